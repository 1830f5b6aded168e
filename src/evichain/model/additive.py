"""Additive contributions, for embeddings that are means.

A mean generator is piecewise linear: at a given piece of evidence, `f(v, r) = J v + c`
exactly, where c gathers the rating and the biases. So with w the direction that matters to
the estimate, the contribution `w f(v, r) / n` of a piece splits into what it owes to its own
evidence, `(J' w / n) v`, and what its rating brings by itself; and v is a mean of pieces
again. The estimate is a product of two embeddings, of which each is credited with half.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from evichain.evidence.trace import Piece, Trace
from evichain.model.chain import Chain
from evichain.model.evidence_source import EvidenceSource, bare_piece
from evichain.model.mean import MeanGenerator
from evichain.ratings.side import Side


def additive_trace(chain: Chain, source: EvidenceSource, *, pieces: int, depth: int) -> Trace:
    """The trace of a prediction, each piece with its part of the estimate."""
    tracer = _AdditiveTracer(chain, source, pieces, depth)
    positions = [source.root(side) for side in Side]
    roots = [
        source.embeddings(side, 0, np.array([positions[side]], np.int32))[0].detach()
        for side in Side
    ]
    estimate = float(roots[0] @ roots[1])
    user, item = (
        tracer.piece(side, 0, positions[side], roots[side.opposite] / 2, None, estimate / 2, 0.0)
        for side in Side
    )
    return Trace(user, item, estimate)


@dataclass(frozen=True)
class _AdditiveTracer:
    chain: Chain
    source: EvidenceSource
    pieces: int
    deepest: int

    def piece(
        self,
        side: Side,
        depth: int,
        position: int,
        weight: Tensor,
        rating: float | None,
        contribution: float,
        own: float,
    ) -> Piece:
        """The piece at a position, whose embedding v brings `weight @ v`."""
        piece = bare_piece(self.source, side, depth, position, rating, contribution)
        if piece.prototype:
            return replace(piece, own=contribution)
        shown, others, rest = self._evidence(side, depth, position, weight)
        return replace(piece, own=own, pieces=shown, others=others, others_contribution=rest)

    def _evidence(
        self, side: Side, depth: int, position: int, weight: Tensor
    ) -> tuple[tuple[Piece, ...], int, float]:
        """The strongest pieces of its evidence, how many more there are, and the sum of those."""
        sources, ratings = self.source.links(side, depth, position)
        if not len(sources):
            return (), 0, 0.0
        below = self.source.embeddings(side.opposite, depth + 1, sources).detach().requires_grad_()
        generator = self.chain.generator(side, depth)
        assert isinstance(generator, MeanGenerator)
        parts = generator.contribution(below, torch.from_numpy(ratings))
        contributions = parts @ weight / len(sources)
        (weights,) = torch.autograd.grad(contributions.sum(), below)
        amounts = contributions.detach()
        owns = amounts - (weights * below.detach()).sum(dim=-1)
        order = torch.argsort(amounts.abs(), descending=True, stable=True).tolist()
        room = self.pieces if depth < self.deepest else 0
        shown = tuple(
            self.piece(
                side.opposite,
                depth + 1,
                int(sources[k]),
                weights[k],
                float(ratings[k]),
                float(amounts[k]),
                float(owns[k]),
            )
            for k in order[:room]
        )
        rest = order[room:]
        return shown, len(rest), float(amounts[rest].sum())
