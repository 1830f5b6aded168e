"""Lists for held-out users: figures by hand, the planted blocks, and the door for recommenders."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.choices import LIKED, liked_blocks

from evichain import REC, Ratings
from evichain.baselines import make_baseline
from evichain.errors import DataError
from evichain.evaluation import (
    HeldOutPart,
    HeldOutUsers,
    Histories,
    ScoresHistories,
    evaluate_held_out,
    held_out_users,
)
from evichain.evaluation import list_quality as lists_module
from evichain.kernels import Floats
from evichain.protocol import Recommendation
from evichain.ratings.graph import Graph

SMALL: dict[str, Any] = {"iterations": 3, "embedding_size": 4, "width": 8}


@dataclass
class Fixed:
    """Scores every item by the same numbers, plus what the history weighs there."""

    graph: Graph
    scores: list[float]

    def score_histories(self, histories: Histories) -> Floats:
        found: Floats = np.array([self.scores] * len(histories), np.float32)
        return found + histories.dense(len(self.scores))


@dataclass
class ForGuests:
    """The same lists, one guest at a time."""

    one: ScoresHistories

    @property
    def graph(self) -> Graph:
        return self.one.graph

    def recommend(self, guest: list[tuple[int, float]], n: int) -> list[Recommendation]:
        items, weights = (np.array(part) for part in zip(*guest, strict=True))
        ids = self.graph.ids[1]
        history = Histories(
            np.array([0, len(items)]), ids.index(items.tolist()), weights.astype(np.float32)
        )
        scores = self.one.score_histories(history)[0]
        best = [k for k in np.argsort(-scores, kind="stable") if scores[k] > -np.inf]
        return [Recommendation(ids[int(k)], float(scores[k]), "") for k in best[:n]]


@pytest.fixture(scope="module")
def blocks() -> HeldOutUsers:
    """Users who only choose items of their own block, one of four."""
    return held_out_users(liked_blocks(200, 80, 4), threshold=LIKED)


def test_by_hand() -> None:
    # Items 0 to 3 with 4, 1, 2 and 1 users, of five.
    train = Ratings.from_arrays([0, 1, 2, 3, 0, 1, 2, 4], [0, 0, 0, 0, 1, 2, 2, 3], [1] * 8)
    part = HeldOutPart(
        given=Ratings.from_arrays([10, 10, 11, 12], [0, 9, 3, 0], [1] * 4),
        wanted=Ratings.from_arrays([10, 10, 11], [2, 8, 0], [1] * 3),
    )
    found = evaluate_held_out(Fixed(Graph.build(train), [4, 3, 2, 1]), part)
    # Item 9 is unknown and has no effect; item 8 is unknown and is missed. User 12 wants nothing.
    # The lists are 1 2 3 and 0 1 2; the hits are at rank 2 of two wanted, and at rank 1 of one.
    assert found.users == 2
    assert found.recall_20 == found.recall_50 == pytest.approx((1 / 2 + 1) / 2)
    first = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    assert found.ndcg_100 == pytest.approx((first + 1) / 2)
    assert found.mrr == pytest.approx((1 / 2 + 1) / 2)
    assert found.map == pytest.approx((1 / 2 / 2 + 1) / 2)
    assert found.coverage == 1
    assert found.popularity == pytest.approx(((1 + 2 + 1 + 4 + 1 + 2) / 6) / ((2 + 4) / 2))
    # Users of item 0: 0 1 2 3, of item 1: 0, of item 2: 1 2, of item 3: 4.
    second = (1 / math.sqrt(4) + 2 / math.sqrt(8) + 0) / 3
    assert found.diversity == pytest.approx(((1 - 0) + (1 - second)) / 2)


def test_recall_counts_to_k_at_most() -> None:
    train = Ratings.from_arrays([0] * 60, range(60), [1] * 60)
    wanted = [*range(30), *range(40, 50)]
    part = HeldOutPart(
        given=Ratings.from_arrays([1], [59], [1]),
        wanted=Ratings.from_arrays([1] * 40, wanted, [1] * 40),
    )
    found = evaluate_held_out(Fixed(Graph.build(train), [-float(k) for k in range(60)]), part)
    assert found.recall_20 == 1
    assert found.recall_50 == 1
    assert 0.9 < found.ndcg_100 < 1


@pytest.mark.parametrize(
    ("name", "settings"),
    [("ease", {}), ("ials", {"factors": 4}), ("item-cosine", {}), ("collaborative-greedy", {})],
)
def test_a_model_of_choices_finds_the_planted_block(
    name: str, settings: dict[str, Any], blocks: HeldOutUsers
) -> None:
    model = make_baseline(name, **settings).fit(blocks.train)
    found = evaluate_held_out(model, blocks.test)
    # The list begins with the 10 or so items of the block that are not given; 2 are wanted.
    assert found.recall_20 == 1
    popular = evaluate_held_out(make_baseline("popularity").fit(blocks.train), blocks.test)
    assert popular.recall_20 < 0.6
    assert found.coverage > 0.9 > popular.coverage
    assert found.popularity < popular.popularity


def test_lists_do_not_depend_on_the_batch(
    blocks: HeldOutUsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_baseline("ease").fit(blocks.train)
    whole = evaluate_held_out(model, blocks.validation)
    monkeypatch.setattr(lists_module, "_CELLS", 250)
    assert evaluate_held_out(model, blocks.validation).to_dict() == pytest.approx(whole.to_dict())


def test_one_that_serves_guests_takes_part(blocks: HeldOutUsers) -> None:
    model = make_baseline("ease").fit(blocks.train)
    assert isinstance(model, ScoresHistories)
    assert evaluate_held_out(ForGuests(model), blocks.test) == evaluate_held_out(model, blocks.test)


@pytest.mark.parametrize("recipe", ["plus", "paper"])
def test_rec_lists_as_for_guests(recipe: str, blocks: HeldOutUsers) -> None:
    model = REC(recipe, **SMALL).fit(blocks.train)
    histories = Histories(
        np.array([0, 2, 3]), np.array([3, 5, 7], np.int32), np.full(3, 5, np.float32)
    )
    assert isinstance(model, ScoresHistories)
    scores = model.score_histories(histories)
    assert scores.shape == (2, len(model.graph.ids[1]))
    ids = model.graph.ids[1]
    for row, guest in zip(scores, ([(ids[3], 5.0), (ids[5], 5.0)], [(ids[7], 5.0)]), strict=True):
        listed = model.recommend(guest, n=5, exclude_seen=False)
        best = np.sort(row)[::-1][:5]
        raw = row[ids.index([entry.item for entry in listed])]
        assert raw == pytest.approx(best, abs=1e-5)
    nobody = Histories(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    assert model.score_histories(nobody).shape == (0, len(ids))
    assert evaluate_held_out(model, blocks.test).users == 20


def test_those_who_cannot_take_part_are_told(blocks: HeldOutUsers) -> None:
    with pytest.raises(DataError, match="does not serve guests"):
        evaluate_held_out(make_baseline("biases").fit(blocks.train), blocks.test)
    with pytest.raises(DataError, match="has no `graph`"):
        evaluate_held_out(object(), blocks.test)
