"""What a piece is worth is what the estimate loses when the recursion goes without it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from tests.model.test_reference import a_channel_chain
from tests.strategies import policies, pools

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import selected
from evichain.evidence.trace import REMOVAL, Piece
from evichain.model.reference import Entity, Recursion
from evichain.model.tracing import trace
from evichain.ratings.side import Side
from evichain.testing.traces import check_trace


def embedded(recursion: Recursion, path: tuple[Entity, ...], depth: int = 0) -> torch.Tensor | None:
    """The embedding of the path's first entity, were its last no evidence at the path's end."""
    entity, *rest = path
    pool, policy = recursion.pool, recursion.policy
    side, index = entity
    parts, links = [], []
    others, ratings = selected(pool, policy, side, index, depth)
    for other, rating in zip(others.tolist(), torch.from_numpy(ratings), strict=True):
        evidence = (side.opposite, other)
        if evidence != rest[0]:
            value = recursion.embed(evidence, depth + 1)
        elif len(rest) == 1:
            value = None
        else:
            value = embedded(recursion, tuple(rest), depth + 1)
        if value is not None:
            parts.append(value)
            links.append(rating)
    if not parts:
        return None
    generator = recursion.chain.generator(side, depth)
    made: torch.Tensor = generator(torch.stack(parts), torch.stack(links))
    return made


@settings(max_examples=60)
@given(pools(), policies(channels=True))
def test_a_piece_is_worth_what_the_recursion_loses_without_it(pool: Pool, policy: Policy) -> None:
    chain = a_channel_chain(pool, policy, shared_generators=False)
    users, items, _ = pool.graph.pairs(np.arange(min(3, len(pool.graph))))
    user, item = int(users[0]), int(items[0])
    _, possible = Recursion(chain, pool, policy).predict(users[:1], items[:1])
    if not possible[0]:
        return
    found = trace(chain, pool, policy, user, item, pieces=3, depth=2)
    check_trace(found)
    assert found.kind == REMOVAL
    with torch.no_grad():
        recursion = Recursion(chain, pool, policy)
        whole = float(recursion.predict(users[:1], items[:1])[0][0])
    scale = pool.graph.scale
    assert found.estimate == pytest.approx(min(max(whole, scale.low), scale.high), abs=1e-5)

    def index(side: Side, identifier: object) -> int:
        return int(pool.graph.ids[side].index([identifier])[0])

    for root in (found.user, found.item):
        start = (root.side, index(root.side, root.id))
        paths: list[tuple[tuple[Entity, ...], Piece]] = [
            ((start, (p.side, index(p.side, p.id))), p) for p in root.pieces
        ]
        paths += [
            ((*path, (q.side, index(q.side, q.id))), q) for path, p in paths for q in p.pieces
        ]
        for path, piece in paths:
            recursion = Recursion(chain, pool, policy)
            with torch.no_grad():
                ends = [recursion.embed((side, (user, item)[side])) for side in Side]
                ends[root.side] = embedded(recursion, path)
                rows = [chain.prior(s) if ends[s] is None else ends[s] for s in Side]
                assert rows[0] is not None
                assert rows[1] is not None
                left = float(chain.head.estimate(rows[0], rows[1]))
            assert piece.contribution == pytest.approx(whole - left, abs=1e-4)


def test_the_text_says_which_kind_it_is() -> None:
    from evichain.recommender import REC
    from evichain.testing import planted_blocks

    model = REC("plus", iterations=3, embedding_size=4, width=4, key_size=3).fit(planted_blocks())
    text = str(model.explain(1, 2))
    assert "would lose without that piece alone" in text
