"""What may be relied on of the choice of evidence, whoever makes it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import policies, pools

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import STABLE, hide, selected
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings

ANY_DEPTH = st.integers(0, 5)
ANY_SEED = st.integers(0, 2**62)


@settings(max_examples=100)
@given(pools(), policies(), ANY_DEPTH, ANY_SEED)
def test_evidence_is_rated_distinct_and_as_much_as_allowed(
    pool: Pool, policy: Policy, depth: int, seed: int
) -> None:
    for side in Side:
        for entity in range(len(pool.graph.ids[side])):
            others, ratings = selected(pool, policy, side, entity, depth, seed)
            indices, codes = pool.graph.rows[side].row(entity)
            rated = dict(
                zip(indices.tolist(), pool.graph.scale.decode(codes).tolist(), strict=True)
            )
            assert len(set(others.tolist())) == len(others)
            assert len(others) == min(policy.limit(depth), len(rated))
            assert [rated[other] for other in others.tolist()] == ratings.tolist()
            again, _ = selected(pool, policy, side, entity, depth, seed)
            assert others.tolist() == again.tolist()


@settings(max_examples=100)
@given(pools(), policies(), ANY_DEPTH, ANY_SEED)
def test_prototypes_come_first(pool: Pool, policy: Policy, depth: int, seed: int) -> None:
    eager = policy.model_copy(update={"prototype_prioritization": True, "bottom_prototypes": False})
    for side in Side:
        slot = pool.sides[side.opposite].slot
        for entity in range(len(pool.graph.ids[side])):
            others, _ = selected(pool, eager, side, entity, depth, seed)
            stored = slot[others] >= 0
            available = int((slot[pool.graph.rows[side].row(entity)[0]] >= 0).sum())
            assert int(stored.sum()) == min(available, len(others))
            assert stored.tolist() == sorted(stored.tolist(), reverse=True)


@settings(max_examples=50)
@given(pools(), st.integers(1, 6))
def test_what_is_hidden_is_no_evidence_and_gives_its_place_to_another(
    pool: Pool, limit: int
) -> None:
    users, items, _ = pool.graph.pairs(np.arange(0, len(pool.graph), 2))
    hidden = hide(users, items)
    gone = set(zip(users.tolist(), items.tolist(), strict=True))
    policy = Policy(evidence_limit=limit)
    for user in range(len(pool.graph.ids[Side.USER])):
        others, _ = selected(pool, policy, Side.USER, user, 0, STABLE, hidden)
        left = {
            i for i in pool.graph.rows[Side.USER].row(user)[0].tolist() if (user, i) not in gone
        }
        assert set(others.tolist()) <= left
        assert len(others) == min(limit, len(left))


def names(graph: Graph, side: Side, who: object, limit: int) -> set[object]:
    pool = Pool.of(graph, ([], []))
    entity = int(graph.ids[side].index([who])[0])
    others, _ = selected(pool, Policy(evidence_limit=limit), side, entity, 0)
    return set(graph.ids[side.opposite].values[others].to_list())


@settings(max_examples=50)
@given(st.sets(st.integers(0, 200), min_size=2, max_size=40), st.integers(1, 8))
def test_a_new_rating_replaces_at_most_one_piece_of_stable_evidence(
    items: set[int], limit: int
) -> None:
    *first, last = sorted(items)
    before = Graph.build(Ratings.from_arrays(["u"] * len(first), first, [3] * len(first)))
    after = before.extended(Ratings.from_arrays(["u"], [last], [3]))
    old, new = names(before, Side.USER, "u", limit), names(after, Side.USER, "u", limit)
    assert new - old <= {last}
    assert len(old - new) <= 1


def test_stable_evidence_does_not_depend_on_who_else_there_is() -> None:
    items = list(range(30))
    alone = Graph.build(Ratings.from_arrays(["u"] * 30, items, [3] * 30))
    entity_sample = Graph.build(
        Ratings.from_arrays(["a"] * 50 + ["u"] * 30, [*range(-20, 30), *items], [3] * 80)
    )
    assert names(alone, Side.USER, "u", 7) == names(entity_sample, Side.USER, "u", 7)


def test_seeds_draw_every_rating_about_equally_often() -> None:
    graph = Graph.build(Ratings.from_arrays([0] * 40, list(range(40)), [3] * 40))
    pool = Pool.of(graph, ([], []))
    policy = Policy(evidence_limit=8)
    draws = [selected(pool, policy, Side.USER, 0, 0, seed)[0] for seed in range(1, 4001)]
    times = np.bincount(np.concatenate(draws), minlength=40)
    assert times.min() > 0.75 * 800
    assert times.max() < 1.25 * 800


def test_newcomers_keep_a_few_ratings_when_asked_for_and_all_as_evidence() -> None:
    count = 255
    users = np.repeat(np.arange(400), count)
    graph = Graph.build(Ratings.from_arrays(users, np.tile(np.arange(count), 400), users % 5 + 1))
    pool, policy = Pool.most_rated(graph, (1, 1)), Policy(evidence_limit=1000, telescoping=False)
    nobody = np.empty(0, np.int32)
    for share in (0.0, 0.25, 1.0):
        hidden = hide(nobody, nobody, seed=3, cold_start_share=share)
        known, cited = (
            np.array(
                [
                    len(selected(pool, policy, Side.USER, user, depth, 3, hidden)[0])
                    for user in range(400)
                ]
            )
            for depth in (0, 1)
        )
        assert (cited == count).all()
        assert (known >= 1).all()
        assert (known < count).mean() == pytest.approx(share, abs=0.05)
        # Each power of two is as likely as the others.
        for few in (2, 16, 128):
            expected = share * np.log2(few) / 8
            assert (known < few).mean() == pytest.approx(expected, abs=0.07)
