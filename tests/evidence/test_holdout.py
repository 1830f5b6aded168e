"""Ratings set aside: the same from every side, and in nobody's evidence."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import policies, pools

from evichain.evidence.holdout import are_held_out, held_out_positions, hold_out
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import STABLE, selected
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.testing import planted_blocks

FRACTIONS = st.sampled_from([0.0, 0.3, 0.9])


@settings(max_examples=40)
@given(pools(), policies(), FRACTIONS, st.integers(0, 5), st.integers(0, 3))
def test_what_is_set_aside_is_in_no_evidence(
    pool: Pool, policy: Policy, fraction: float, lot: int, seed: int
) -> None:
    holdout = hold_out(fraction, lot)
    graph = pool.graph
    users, items, _ = graph.pairs(held_out_positions(graph, holdout))
    hidden = set(zip(users.tolist(), items.tolist(), strict=True))
    for side in Side:
        for entity in range(len(graph.ids[side])):
            for draw in (STABLE, seed):
                found, _ = selected(replace(pool, holdout=holdout), policy, side, entity, 0, draw)
                pairs = [(entity, o) if side is Side.USER else (o, entity) for o in found.tolist()]
                assert not hidden & set(pairs)


@settings(max_examples=40)
@given(pools(), FRACTIONS, st.integers(0, 5))
def test_positions_are_those_of_the_pairs(pool: Pool, fraction: float, lot: int) -> None:
    holdout, graph = hold_out(fraction, lot), pool.graph
    users, items, _ = graph.pairs(np.arange(len(graph)))
    expected = np.flatnonzero(are_held_out(holdout, users, items))
    assert held_out_positions(graph, holdout).tolist() == expected.tolist()


def test_the_share_is_the_fraction_and_seeds_differ() -> None:
    graph = Graph.build(planted_blocks(200, 200))
    found = [set(held_out_positions(graph, hold_out(0.2, seed)).tolist()) for seed in (1, 2)]
    for positions in found:
        assert abs(len(positions) / len(graph) - 0.2) < 0.02
    assert len(found[0] & found[1]) < 0.06 * len(graph)
