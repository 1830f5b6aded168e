"""Whatever has happened, live answers are those of the recursion over the ratings there are."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from evichain.answering.answers import predict, recommend
from evichain.answering.asker import find_user, make_guest
from evichain.answering.graph_backend import GraphBackend
from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.model.reference import Recursion
from evichain.ratings.graph import Graph
from evichain.ratings.ids import Id
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import Settings, settings_for
from evichain.service.live.engine import LiveEngine, RatingChange
from evichain.service.live.layers import LayerUpdater
from evichain.service.live.snapshot import Snapshot

PROTOTYPES: tuple[list[Id], list[Id]] = ([0, 1, 9], [0, 2])
SCALE = Scale.of(np.arange(1, 6, dtype=np.float32))
SMALL: dict[str, Any] = {"embedding_size": 4, "width": 6}
SHAPES = {
    "plus": settings_for("plus", key_size=3, channel_size=2, evidence_limit=4, **SMALL),
    "shallow": settings_for("plus", key_size=3, max_depth=1, evidence_limit=3, **SMALL),
    "paper": settings_for("paper", cycle_blocking=False, evidence_limit=4, **SMALL),
    "unlimited": settings_for(
        "paper", cycle_blocking=False, evidence_limit=99, max_depth=2, telescoping=False, **SMALL
    ),
    "choices": settings_for("choices", key_size=3, max_depth=3, evidence_limit=4),
    "flat": settings_for("paper", cycle_blocking=False, max_depth=0, **SMALL),
    "no priority": settings_for(
        "paper", cycle_blocking=False, evidence_limit=2, prototype_prioritization=False, **SMALL
    ),
}
START = {(u, i): float(1 + (u * 3 + i) % 5) for u in range(5) for i in range(4) if (u + i) % 3}


def a_pool(ratings: dict[tuple[int, int], float]) -> Pool:
    users, items = zip(*ratings, strict=True)
    table = Ratings.from_arrays(list(users), list(items), list(ratings.values()))
    return Pool.of(Graph.build(table), PROTOTYPES)


def a_chain(settings: Settings) -> Chain:
    torch.manual_seed(3)
    counts = [len(ids) for ids in PROTOTYPES]
    return Chain(settings.chain, counts, 3.0, std=1.2, depths=settings.policy.max_depth)


def assert_answers(
    snapshot: Snapshot, chain: Chain, shape: Settings, ratings: dict[tuple[int, int], float]
) -> None:
    """All estimates, of users and items that nobody has met among them."""
    pool = a_pool(ratings)
    recursion = Recursion(chain, pool, shape.policy)
    names = list(range(12))
    items = pool.graph.ids[Side.ITEM].index(names)
    for user in names:
        index = pool.graph.ids[Side.USER].index([user])
        expected, possible = recursion.predict(np.repeat(index, len(items)), items)
        asked = predict(snapshot, find_user(snapshot, user, required=False), names)
        assert [reason is None for reason in asked.reasons] == possible
        values = expected.detach().numpy()
        values = SCALE.within(values) if chain.head.bounded else values
        np.testing.assert_allclose(asked.estimates, values, atol=1e-5)
    fresh = LiveEngine(GraphBackend(chain, pool, shape), 0, SCALE).snapshot
    for user in names:
        listed = listing(snapshot, user)
        assert listed.keys() == listing(fresh, user).keys()
        assert listed == pytest.approx(listing(fresh, user), abs=1e-5)


def listing(snapshot: Snapshot, user: int) -> dict[Id, float]:
    """All items that a user can be recommended, seen or not, and their estimates."""
    asker = find_user(snapshot, user, required=False)
    return {r.item: r.estimate for r in recommend(snapshot, asker, 99, exclude_seen=False)}


class Live(RuleBasedStateMachine):
    """Adds, changes, deletes and erases, by one and by many, beside a plain dict."""

    @initialize(shape=st.sampled_from(sorted(SHAPES)))
    def begin(self, shape: str) -> None:
        self.shape = SHAPES[shape]
        self.chain = a_chain(self.shape)
        self.ratings = dict(START)
        self.version = 0
        self.restart()

    @rule()
    def restart(self) -> None:
        engine = GraphBackend(self.chain, a_pool(self.ratings), self.shape)
        self.live = LiveEngine(engine, self.version, SCALE)

    @rule(
        changes=st.lists(
            st.tuples(
                st.integers(0, 10),
                st.one_of(st.none(), *[st.integers(0, 9)] * 8),
                st.one_of(st.none(), *[st.integers(1, 5).map(float)] * 3),
            ),
            max_size=6,
        )
    )
    def change(self, changes: list[tuple[int, int | None, float | None]]) -> None:
        after = dict(self.ratings)
        for user, item, rating in changes:
            if item is None:
                after = {pair: value for pair, value in after.items() if pair[0] != user}
            elif rating is None:
                after.pop((user, item), None)
            else:
                after[user, item] = rating
        if not after:
            return
        before, refreshed = self.live.snapshot, self.ratings
        self.version += 1
        self.live.apply([RatingChange(*change) for change in changes], self.version)
        self.ratings = after
        if before.refreshed_version == before.version:
            assert_answers(before, self.chain, self.shape, refreshed)

    @rule()
    def refresh(self) -> None:
        found = self.live.refresh()
        assert found is self.live.snapshot
        assert found.refreshed_version == found.version == self.version
        assert_answers(found, self.chain, self.shape, self.ratings)

    @invariant()
    def ratings_are_there_at_once(self) -> None:
        if not hasattr(self, "live"):
            return
        snapshot = self.live.snapshot
        assert snapshot.version == self.version
        found = {
            (user, snapshot.ids[Side.ITEM][item]): rating
            for user in range(12)
            for item, rating in zip(
                *snapshot.row(Side.USER, snapshot.index(Side.USER, user)), strict=True
            )
        }
        assert found == self.ratings

    def teardown(self) -> None:
        if hasattr(self, "live"):
            self.refresh()


TestLive = Live.TestCase
TestLive.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_one_rating_after_another(shape: str) -> None:
    chain, ratings = a_chain(SHAPES[shape]), dict(START)
    live = LiveEngine(GraphBackend(chain, a_pool(ratings), SHAPES[shape]), 0, SCALE)
    for version, (pair, rating) in enumerate(
        [((7, 0), 5.0), ((7, 3), 1.0), ((0, 2), 4.0), ((7, 8), 2.0), ((9, 0), 3.0)], start=1
    ):
        live.apply([RatingChange(*pair, rating)], version)
        ratings[pair] = rating
        assert_answers(live.refresh(), chain, SHAPES[shape], ratings)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_prototype_that_lost_its_ratings_is_not_recommended_until_it_has_some(shape: str) -> None:
    chain, ratings = a_chain(SHAPES[shape]), dict(START)
    live = LiveEngine(GraphBackend(chain, a_pool(ratings), SHAPES[shape]), 0, SCALE)
    users = [user for user, item in ratings if item == 2]
    found = live.apply([RatingChange(user, 2) for user in users], 1)
    assert all(2 not in listing(found, user) for user in range(5))
    ratings = {pair: rating for pair, rating in ratings.items() if pair[1] != 2}
    assert_answers(live.refresh(), chain, SHAPES[shape], ratings)
    found = live.apply([RatingChange(users[0], 2, 4.0)], 2)
    assert 2 in listing(found, users[0])
    assert_answers(live.refresh(), chain, SHAPES[shape], ratings | {(users[0], 2): 4.0})


def test_what_comes_while_it_refreshes_is_there_and_refreshes_next() -> None:
    shape, ratings = SHAPES["plus"], dict(START)
    chain = a_chain(shape)
    live = LiveEngine(GraphBackend(chain, a_pool(ratings), shape), 0, SCALE)
    updated, later = (
        LayerUpdater.updated,
        [RatingChange(8, 0, 5.0), RatingChange(8, 7, 1.0), RatingChange(0, 2, 1.0)],
    )

    def interrupted(self: LayerUpdater, *parts: Any) -> Any:
        before = live.snapshot
        # Something that changes no rating, such as a title.
        assert (
            live.apply([], before.version).refreshed_version
            == before.refreshed_version
            < before.version
        )
        found = updated(self, *parts)
        live.apply([later.pop()], before.version + 1)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LayerUpdater, "updated", interrupted)
        live.apply([RatingChange(1, 2, 5.0)], 1)
        for version in (1, 2, 3):
            assert live.refresh().refreshed_version == version
            assert live.snapshot.version == version + 1
    ratings |= {(1, 2): 5.0, (8, 0): 5.0, (8, 7): 1.0, (0, 2): 1.0}
    assert_answers(live.refresh(), chain, shape, ratings)
    assert live.snapshot.refreshed_version == 4
    assert live.apply([], 5).refreshed_version == 5


def test_a_fault_while_it_refreshes_leaves_nothing_behind() -> None:
    shape, ratings = SHAPES["plus"], dict(START)
    chain = a_chain(shape)
    live = LiveEngine(GraphBackend(chain, a_pool(ratings), shape), 0, SCALE)

    def broken(*_: object) -> Any:
        raise FloatingPointError

    live.apply([RatingChange(1, 2, 5.0)], 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evichain.service.live.layers.layer", broken)
        with pytest.raises(FloatingPointError):
            live.refresh()
    live.apply([RatingChange(7, 0, 2.0)], 2)
    assert_answers(live.refresh(), chain, shape, ratings | {(1, 2): 5.0, (7, 0): 2.0})


def test_who_rated_and_what_was_rated_are_right_before_it_refreshes() -> None:
    """A newcomer's list, and an item that nobody has rated before."""
    shape, ratings = SHAPES["plus"], dict(START)
    chain = a_chain(shape)
    live = LiveEngine(GraphBackend(chain, a_pool(ratings), shape), 0, SCALE)
    before = live.snapshot
    found = live.apply(
        [RatingChange(11, 8, 5.0), RatingChange(11, 0, 1.0), RatingChange(2, 8, 4.0)], 1
    )
    assert found.refreshed_version == 0
    guest, user = make_guest(found, [(8, 5.0), (0, 1.0)]), find_user(found, 11)
    expected = predict(found, guest, [8, 1])
    for asker in (guest, user):
        asked = predict(found, asker, [8, 1])
        assert asked.reasons == [None, None]
        np.testing.assert_allclose(asked.estimates, expected.estimates, atol=1e-6)
    assert before.index(Side.ITEM, 8) < 0
