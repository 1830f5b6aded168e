from typing import Any

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import policies, pools
from torch import Tensor

from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.model.settings import ChainSettings
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.table import Ratings
from evichain.testing import planted_blocks


def test_the_size_does_not_depend_on_the_data() -> None:
    shape = ChainSettings(embedding_size=10, hidden_layers=3)
    sizes = set()
    for users in (60, 120):
        pool = Pool.most_rated(Graph.build(planted_blocks(users=users, items=users)), (50, 50))
        counts = [side.count for side in pool.sides]
        sizes.add(Chain(shape, counts, 3.0).parameter_count)
    assert sizes == {170_620}  # 50 + 50 prototypes of 10, two nets of 11-200-200-200-10


def test_every_entity_a_prototype_is_plain_matrix_factorization() -> None:
    graph = Graph.build(planted_blocks(users=8, items=6))
    pool = Pool.most_rated(graph, (8, 6))
    chain = Chain(ChainSettings(embedding_size=3), (8, 6), 3.0)
    users, items, _ = graph.pairs(np.arange(len(graph)))
    found = chain(make_plan(pool, Policy(max_depth=0), users, items))
    left = chain.prototypes[0][torch.from_numpy(pool.sides[0].slot[users])]
    right = chain.prototypes[1][torch.from_numpy(pool.sides[1].slot[items])]
    torch.testing.assert_close(found, (left * right).sum(-1))


def test_rowless_and_columnless_models_are_configurations() -> None:
    graph = Graph.build(planted_blocks(users=8, items=6))
    for counts in ((0, 6), (8, 0)):
        pool = Pool.most_rated(graph, counts)
        chain = Chain(ChainSettings(embedding_size=3), counts, 3.0)
        users, items, _ = graph.pairs(np.arange(len(graph)))
        plan = make_plan(pool, Policy(max_depth=1), users, items)
        assert (plan.rows[0] >= 0).all()
        assert (plan.rows[1] >= 0).all()
        assert chain(plan).requires_grad


def test_the_impossible_is_predicted_as_the_mean() -> None:
    graph = Graph.build(Ratings.from_arrays([1, 2], [1, 2], [5, 1]))
    pool = Pool.of(graph, ([1], [1]))
    chain = Chain(ChainSettings(embedding_size=3), (1, 1), 3.25)
    with torch.no_grad():  # whole numbers: their product is exact in whatever order it is summed
        chain.prototypes[0][0] = torch.tensor([1.0, 2.0, 3.0])
        chain.prototypes[1][0] = torch.tensor([4.0, -5.0, 6.0])
    users = np.array([0, 1, UNKNOWN, 0], np.int32)
    items = np.array([0, 0, 0, 1], np.int32)
    found = chain(make_plan(pool, Policy(), users, items))
    assert found.tolist() == [12.0, 3.25, 3.25, 3.25]


@settings(max_examples=60)
@given(pools(), policies(channels=True), st.integers(2, 5), st.booleans())
def test_shares_of_a_plan_are_its_rows(pool: Pool, policy: Policy, size: int, plain: bool) -> None:
    torch.manual_seed(1)
    kind: Any = "mean" if plain else "channels"
    shape = ChainSettings(generator=kind, embedding_size=4, width=5, key_size=3, channel_size=2)
    chain = Chain.for_pool(shape, pool, policy.max_depth)
    users, items, _ = pool.graph.pairs(np.arange(len(pool.graph)))
    whole = make_plan(pool, policy, users, items)
    rows = chain.rows(whole)
    made = {key: rows[key][len(block.prototypes) :] for key, block in whole.blocks.items()}
    keys = [(depth, side) for depth, side, block in whole.upward() if len(block.entities)]
    met = [0] * len(keys)
    for number in range(size):
        turns = iter(range(len(keys)))

        def exchange(own: Tensor, share: slice, count: int) -> Tensor:
            turn = next(turns)  # noqa: B023
            expected = made[keys[turn]]
            assert count == len(expected)
            torch.testing.assert_close(own, expected[share], atol=1e-5, rtol=1e-5)
            met[turn] += len(own)
            return expected

        part = make_plan(pool, policy, users, items, share=(number, size))
        assert all((a == b).all() for a, b in zip(part.rows, whole.rows, strict=True))
        chain.rows(part, exchange)
    assert met == [len(made[key]) for key in keys]
