"""Ratings as levels."""

import numpy as np

from evichain.baselines._levels import MOST_LEVELS, Levels
from evichain.ratings.graph import Graph
from evichain.ratings.table import Ratings


def levels_of(values: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> Levels:
    users = np.arange(len(values))
    return Levels.of(Graph.build(Ratings.from_arrays(users, users, values)), values)


def test_few_ratings_are_their_own_levels() -> None:
    values = np.array([5, 1, 3.5, 1], np.float32)
    levels = levels_of(values)
    assert levels.values.tolist() == [1, 3.5, 5]
    assert levels.codes(values).tolist() == [2, 0, 1, 0]


def test_many_ratings_become_parts_of_equal_counts_told_by_their_means() -> None:
    values = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    levels = levels_of(values)
    codes = levels.codes(values)
    assert len(levels) == MOST_LEVELS
    assert np.ptp(np.bincount(codes)) <= 2
    for code in range(MOST_LEVELS):
        assert np.isclose(levels.values[code], values[codes == code].mean(), atol=1e-6)
    assert (np.diff(levels.values) > 0).all()


def test_one_rating_given_by_most_does_not_make_empty_parts() -> None:
    values = np.concatenate([np.zeros(900), np.linspace(1, 2, 300)]).astype(np.float32)
    levels = levels_of(values)
    assert np.bincount(levels.codes(values), minlength=len(levels)).min() > 0
