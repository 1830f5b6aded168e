"""What all baselines share, on the smallest one there is."""

from typing import Any, cast

import numpy as np
import pytest

from evichain import Ratings
from evichain.baselines._base import Baseline, BaselineSettings, Learned
from evichain.errors import DataError
from evichain.kernels import Floats, Ints
from evichain.ratings.graph import Graph
from evichain.testing import planted_blocks


class Sums(Baseline[BaselineSettings]):
    """Says the sum of the indices of user and item."""

    Settings = BaselineSettings

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        def scores(users: Ints, items: Ints) -> Floats:
            return (users + items).astype(np.float32)

        return Learned(scores, 0, {"told": progress})


def test_estimates_stay_on_the_scale_and_lists_look_beyond_it() -> None:
    model = Sums().fit(planted_blocks())
    assert model.predict([0, 0, 0], [0, 3, 39]).estimates.tolist() == [1.0, 3.0, 5.0]
    listed = model.recommend(59, n=3, exclude_seen=False)
    assert [entry.item for entry in listed] == [39, 38, 37]
    assert [entry.estimate for entry in listed] == [5.0, 5.0, 5.0]


def test_an_unknown_side_is_named() -> None:
    model = Sums().fit(planted_blocks())
    assert model.predict("a", 0).reason == "unknown user 'a'"
    assert model.predict(0, "b").reason == "unknown item 'b'"
    assert model.predict("a", "b").reason == "unknown user 'a'; unknown item 'b'"
    assert model.predict("a", 0).estimate == pytest.approx(planted_blocks().mean)


def test_tables_of_any_kind_are_ratings_and_training_is_told_of() -> None:
    table: Any = {"user": ["ann", "bob"], "item": [1, 1], "rating": [3, 4]}
    model = Sums().fit(table, progress=True)
    assert model.training == {"data": "", "ratings": 2, "told": True}
    assert len(model.graph) == 2
    assert model.parameter_count == 0


def test_many_pairs_are_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Sums().fit(Ratings.from_arrays([0, 1, 2], [0, 1, 2], [0, 4, 2]))
    users, items = [0, 1, 2, 2, 1] * 3, [2, 0, 0, 2, 1] * 3
    whole = model.predict(users, items).estimates
    monkeypatch.setattr("evichain.baselines._base._PAIRS_AT_ONCE", 4)
    assert np.array_equal(model.predict(users, items).estimates, whole)


def test_guests_are_refused() -> None:
    model, guest = Sums().fit(planted_blocks()), cast(Any, [(0, 5.0)])
    for ask in (lambda: model.predict(guest, 1), lambda: model.recommend(guest)):
        with pytest.raises(DataError, match="does not serve guests"):
            ask()


def test_one_user_with_many_items_and_the_reverse() -> None:
    model = Sums().fit(planted_blocks())
    assert model.predict(1, [0, 1]).estimates.tolist() == [1.0, 2.0]
    assert model.predict([0, 1], 1).estimates.tolist() == [1.0, 2.0]
    with pytest.raises(DataError, match="2 users but 3 items"):
        model.predict([0, 1], [0, 1, 2])
