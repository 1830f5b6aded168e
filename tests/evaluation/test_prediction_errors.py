"""Errors of any recommender, against figures worked out by hand."""

from typing import Any

import numpy as np
import pytest

from evichain import Ratings
from evichain.errors import DataError
from evichain.evaluation import evaluate
from evichain.protocol import Predictions
from evichain.ratings.scale import Scale


class Oracle:
    """Gives the same predictions to everyone."""

    def __init__(self, found: Predictions) -> None:
        self.found = found

    def predict(self, users: Any, items: Any) -> Predictions:
        assert len(users) == len(items) == len(self.found)
        return self.found


TEST = Ratings.from_arrays([1, 1, 2, 3], [1, 2, 1, 9], [4.0, 2.0, 5.0, 3.0])
ESTIMATES = np.array([3.0, 2.0, 5.0, 5.0], np.float32)


def test_errors_are_those_of_all_ratings() -> None:
    found = evaluate(Oracle(Predictions(ESTIMATES, [None, None, None, "unknown user"])), TEST, n=0)  # type: ignore[arg-type]
    assert found.rmse == pytest.approx(np.sqrt(5 / 4))
    assert found.mae == pytest.approx(3 / 4)
    assert (found.ratings, found.impossible, found.interval_coverage) == (4, 1, None)


def test_the_share_within_intervals_is_counted() -> None:
    stds = np.array([0.5, 0.5, 0.5, 1.6], np.float32)
    found = evaluate(Oracle(Predictions(ESTIMATES, [None] * 4, stds)), TEST, n=0)  # type: ignore[arg-type]
    # Errors 1, 0, 0, 2 beside reaches of 0.64, 0.64, 0.64 and 2.05.
    assert found.interval_coverage == 0.75


def test_estimates_off_a_scale_are_cut_for_a_second_error() -> None:
    wild = Oracle(Predictions(np.array([6.0, 2.0, 0.0, 3.0], np.float32), [None] * 4))
    scale = Scale.of(np.array([1, 5], np.float32))
    found = evaluate(wild, TEST, n=0, scale=scale)  # type: ignore[arg-type]
    # Errors 2, 0, 5, 0, and with 5 and 1 for 6 and 0: 1, 0, 4, 0.
    assert found.rmse == pytest.approx(np.sqrt(29 / 4))
    assert found.rmse_within_scale == pytest.approx(np.sqrt(17 / 4))
    assert evaluate(wild, TEST, n=0).rmse_within_scale is None  # type: ignore[arg-type]


def test_without_ratings_there_are_no_errors() -> None:
    nothing = TEST.take(np.zeros(4, np.bool_))
    with pytest.raises(DataError, match="no ratings to test on"):
        evaluate(Oracle(Predictions(ESTIMATES[:0], [])), nothing, n=0)  # type: ignore[arg-type]
