import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import policies, pools

from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.trace import Piece
from evichain.model.chain import Chain
from evichain.model.settings import ChainSettings
from evichain.model.tracing import trace
from evichain.ratings.side import Side


def assert_adds_up(piece: Piece) -> None:
    parts = piece.others_contribution + sum(p.contribution for p in piece.pieces)
    assert piece.own + parts == pytest.approx(piece.contribution, abs=1e-5)
    for part in piece.pieces:
        assert_adds_up(part)


def assert_rated(pool: Pool, policy: Policy, piece: Piece) -> None:
    """Each piece is linked to its parent by the rating that the graph has."""
    index = int(pool.graph.ids[piece.side].index([piece.id])[0])
    rated = dict(pool.graph.rated(piece.side, index))
    for part in piece.pieces:
        assert part.side is piece.side.opposite
        assert rated[part.id] == part.rating
        stored = policy.stored(part.depth) and part.id in pool.ids[part.side]
        assert part.prototype == stored
        assert_rated(pool, policy, part)


@settings(max_examples=100)
@given(pools(), policies(), st.integers(0, 4), st.integers(0, 5))
def test_contributions_add_up_all_the_way_down(
    pool: Pool, policy: Policy, pieces: int, depth: int
) -> None:
    torch.manual_seed(1)
    counts = [side.count for side in pool.sides]
    chain = Chain(ChainSettings(embedding_size=3, width=9), counts, pool.graph.mean)
    users, items, _ = pool.graph.pairs(np.arange(min(4, len(pool.graph))))
    plan = make_plan(pool, policy, users, items)
    with torch.no_grad():
        estimates = chain(plan)
    for k in range(len(users)):
        if plan.rows[Side.USER][k] < 0 or plan.rows[Side.ITEM][k] < 0:
            continue
        found = trace(chain, pool, policy, int(users[k]), int(items[k]), pieces=pieces, depth=depth)
        assert found.estimate == pytest.approx(float(estimates[k]), abs=1e-5)
        total = found.user.contribution + found.item.contribution
        assert total == pytest.approx(found.estimate, abs=1e-5)
        for root in (found.user, found.item):
            assert_adds_up(root)
            assert_rated(pool, policy, root)
