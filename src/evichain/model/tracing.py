"""The trace of a prediction: its evidence tree, with what each piece adds to the estimate.

A generator is piecewise linear: at a given piece of evidence, `f(v, r) = J v + c` exactly,
where c gathers the rating and the biases. So with w the direction that matters to the
estimate, the contribution `w f(v, r) / n` of a piece splits into what it owes to its own
evidence, `(J' w / n) v`, and what its rating brings by itself; and v is a mean of pieces
again. The estimate is a product of two embeddings, of which each is credited with half.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evichain.evidence.plan import Plan, make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.trace import Piece, Trace
from evichain.kernels import Floats, Ints
from evichain.model.chain import Chain
from evichain.model.mean import MeanGenerator
from evichain.ratings.ids import Id
from evichain.ratings.side import Side


def trace(
    chain: Chain, pool: Pool, policy: Policy, user: int, item: int, *, pieces: int, depth: int
) -> Trace:
    """The trace of a possible prediction.

    Args:
        pieces: how many pieces to show of what each embedding is generated from.
        depth: the depth of the deepest pieces to show.
    """
    plan = make_plan(pool, policy, np.array([user], np.int32), np.array([item], np.int32))
    with torch.no_grad():
        rows = chain.rows(plan)
    tracer = _Tracer(chain, pool, plan, rows, pieces, depth)
    ends = [rows[0, side][int(plan.rows[side][0])] for side in Side]
    estimate = float(ends[0] @ ends[1])
    roots = [
        tracer.piece(
            side, 0, int(plan.rows[side][0]), ends[side.opposite] / 2, None, estimate / 2, 0.0
        )
        for side in Side
    ]
    return Trace(roots[Side.USER], roots[Side.ITEM], estimate)


@dataclass(frozen=True)
class _Tracer:
    chain: Chain
    pool: Pool
    plan: Plan
    rows: dict[tuple[int, Side], Tensor]
    pieces: int
    deepest: int

    def piece(
        self,
        side: Side,
        depth: int,
        row: int,
        weight: Tensor,
        rating: float | None,
        contribution: float,
        own: float,
    ) -> Piece:
        """The piece at a row, whose embedding v brings `weight @ v`."""
        identifier, prototype = self._who(side, depth, row)
        title = self.pool.graph.title(identifier) if side is Side.ITEM else str(identifier)
        shown: tuple[Piece, ...] = ()
        others, rest = 0, 0.0
        if not prototype:
            shown, others, rest = self._evidence(side, depth, row, weight)
        return Piece(
            side=side,
            id=identifier,
            title=title,
            depth=depth,
            rating=rating,
            prototype=prototype,
            contribution=contribution,
            own=contribution if prototype else own,
            pieces=shown,
            others=others,
            others_contribution=rest,
        )

    def _evidence(
        self, side: Side, depth: int, row: int, weight: Tensor
    ) -> tuple[tuple[Piece, ...], int, float]:
        """The strongest pieces behind a row; how many more there are, and their sum."""
        sources, ratings = self._links(side, depth, row)
        below = self.rows[depth + 1, side.opposite][torch.from_numpy(sources)]
        below.requires_grad_()
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

    def _links(self, side: Side, depth: int, row: int) -> tuple[Ints, Floats]:
        """The rows one depth below that a row is the mean of, and the ratings between."""
        block = self.plan.blocks[depth, side]
        layout = block.layout
        assert layout is not None
        node = row - len(block.prototypes)
        left_out = -1
        if node >= len(block.entities):
            variant = node - len(block.entities)
            node, left_out = int(block.variant_node[variant]), int(block.variant_pair[variant])
        pairs = layout.link_pair[layout.node_ptr[node] : layout.node_ptr[node + 1]]
        pairs = pairs[pairs != left_out]
        return layout.pair_source[pairs], layout.pair_value[pairs]

    def _who(self, side: Side, depth: int, row: int) -> tuple[Id, bool]:
        """The id of a row's entity, and whether it is a prototype."""
        block = self.plan.blocks[depth, side]
        if row < len(block.prototypes):
            return self.pool.ids[side][int(block.prototypes[row])], True
        node = row - len(block.prototypes)
        if node >= len(block.entities):
            node = int(block.variant_node[node - len(block.entities)])
        return self.pool.graph.ids[side][int(block.entities[node])], False
