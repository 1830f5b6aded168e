"""The plan beyond its equality with the recursion (tests/model/test_reference.py)."""

import numpy as np
from hypothesis import given, settings
from tests.strategies import policies, pools

from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import selected
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings


@settings(max_examples=100)
@given(pools(), policies())
def test_blocks_are_consistent(pool: Pool, policy: Policy) -> None:
    everyone = [np.arange(len(pool.graph.ids[side]), dtype=np.int32) for side in Side]
    plan = make_plan(pool, policy, *everyone)
    for depth, side, block in plan.upward():
        if policy.stored(depth):
            assert (pool.sides[side].slot[block.entities] == -1).all()
        else:
            assert not len(block.prototypes)
        if block.layout is None:
            continue
        layout = block.layout
        below = plan.blocks[depth + 1, side.opposite]
        assert layout.source_ptr[-1] == len(layout.pair_value)
        assert len(layout.source_ptr) == below.rows + 1
        starts = np.repeat(np.arange(below.rows), np.diff(layout.source_ptr))
        assert starts.tolist() == layout.pair_source.tolist()
        distinct = set(zip(layout.pair_source.tolist(), layout.pair_value.tolist(), strict=True))
        assert len(distinct) == len(layout.pair_value)
        assert (np.diff(layout.node_ptr) > 0).all()
        for node, entity in enumerate(block.entities.tolist()):
            chosen, _ = selected(pool, policy, side, entity, depth)
            assert layout.node_ptr[node + 1] - layout.node_ptr[node] <= len(chosen)
        back = np.repeat(np.arange(len(layout.pair_value)), np.diff(layout.pair_ptr))
        forth = np.repeat(np.arange(len(block.entities)), np.diff(layout.node_ptr))
        assert sorted(zip(back.tolist(), layout.pair_node.tolist(), strict=True)) == sorted(
            zip(layout.link_pair.tolist(), forth.tolist(), strict=True)
        )


def test_the_work_is_bounded_by_batch_and_policy_not_by_the_data() -> None:
    noise = np.random.default_rng(0)
    policy = Policy(evidence_limit=4, max_depth=3)
    bound = 20 * (4 + 4 * 2 + 4 * 2 * 1)
    for users, items, count in ((100, 80, 2_000), (4_000, 3_000, 200_000)):
        cells = noise.choice(users * items, count, replace=False)
        graph = Graph.build(Ratings.from_arrays(cells // items, cells % items, cells % 5))
        pool = Pool.most_rated(graph, (5, 5))
        who, what, _ = graph.pairs(noise.integers(0, len(graph), 10))
        plan = make_plan(pool, policy, who, what, seed=1)
        assert 0 < plan.pairs <= plan.links <= bound


def test_an_empty_or_unknown_request_is_no_trouble() -> None:
    pool = Pool.most_rated(Graph.build(Ratings.from_arrays([1], [1], [1])), (1, 1))
    nobody = np.empty(0, np.int32)
    assert [len(rows) for rows in make_plan(pool, Policy(), nobody, nobody).rows] == [0, 0]
    stranger = np.array([UNKNOWN], np.int32)
    assert [rows.tolist() for rows in make_plan(pool, Policy(), stranger, stranger).rows] == [
        [-1],
        [-1],
    ]
