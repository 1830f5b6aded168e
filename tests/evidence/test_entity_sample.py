import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import pools

from evichain.evidence.entity_sample import EVERYONE, belongs, draw_entity_sample
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import hide, selected
from evichain.kernels import Ints
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings

NOBODY: Ints = np.empty(0, np.int32)


def a_pool() -> Pool:
    """2,000 users and 300 items, few of them prototypes."""
    users = np.arange(2_000)
    table = Ratings.from_frame({"user": users, "item": users % 300, "rating": users % 5 + 1.0})
    return Pool.most_rated(Graph.build(table), (3, 3))


def test_a_crowd_is_about_as_large_as_asked_for_on_each_side() -> None:
    entity_sample = draw_entity_sample(a_pool(), 500, seed=7)
    users = sum(belongs(entity_sample, Side.USER, user) for user in range(2_000))
    assert 400 < users < 600
    assert all(belongs(entity_sample, Side.ITEM, item) for item in range(300))


def test_another_seed_draws_another_crowd() -> None:
    first, second = (draw_entity_sample(a_pool(), 1_000, seed=seed) for seed in (1, 2))
    differing = sum(belongs(first, 0, user) != belongs(second, 0, user) for user in range(2_000))
    assert 800 < differing < 1_200


def test_a_crowd_of_none_is_everyone() -> None:
    assert draw_entity_sample(a_pool(), 0, seed=1) == EVERYONE
    assert all(belongs(EVERYONE, side, entity) for side in Side for entity in (0, 299))


@settings(max_examples=50)
@given(pools(), st.integers(1, 10), st.integers(1, 2**62))
def test_evidence_is_in_the_crowd_or_a_prototype(pool: Pool, size: int, seed: int) -> None:
    entity_sample = draw_entity_sample(pool, size, seed)
    hidden = hide(NOBODY, NOBODY, entity_sample=entity_sample)
    for side in Side:
        slot = pool.sides[side.opposite].slot
        for entity in range(len(pool.graph.ids[side])):
            rated, _ = pool.graph.rows[side].row(entity)
            asked = [other for other in rated if belongs(entity_sample, side.opposite, other)]
            assert all(other in asked for other in rated if slot[other] >= 0)
            found, _ = selected(pool, Policy(), side, entity, 0, seed, hidden)
            assert sorted(found) == sorted(asked)
