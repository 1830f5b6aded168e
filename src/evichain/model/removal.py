"""What each piece of evidence is worth: the change in the estimate when it is taken away.

For generators in which evidence works together, such as a regression, there are no parts
that add up. Each piece is taken away by itself, the embeddings above it are generated
again without it, and what the estimate loses is the piece's contribution: exactly, not by
a gradient.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evichain.evidence.trace import REMOVAL, Piece, Trace
from evichain.model.behind import Behind
from evichain.model.chain import Chain
from evichain.ratings.side import Side

Upward = Callable[[Tensor | None], float]
"""The estimate, were a row another one, or none at all."""


@torch.no_grad()
def removal_trace(chain: Chain, behind: Behind, *, pieces: int, depth: int) -> Trace:
    """The trace of the one request of a plan, each piece with what is lost without it."""
    places = [int(behind.plan.rows[side][0]) for side in Side]
    ends = [behind.rows[0, side][places[side]] for side in Side]

    def upward(side: Side) -> Upward:
        def estimate(row: Tensor | None) -> float:
            pair = list(ends)
            prior = chain.prior(side) if row is None else row
            assert prior is not None
            pair[side] = prior
            return float(chain.head.estimate(*pair))

        return estimate

    whole = upward(Side.USER)(ends[Side.USER])
    tracer = _Tracer(chain, behind, whole, pieces, depth)
    user, item = (
        tracer.piece(side, 0, places[side], upward(side), None, whole - upward(side)(None))
        for side in Side
    )
    # What a piece is worth must show beyond the end of the scale too, so only this is cut.
    estimate = behind.pool.graph.scale.within(np.array([whole], np.float32))
    return Trace(user, item, float(estimate[0]), kind=REMOVAL)


@dataclass(frozen=True)
class _Tracer:
    chain: Chain
    behind: Behind
    whole: float
    pieces: int
    deepest: int

    def piece(
        self,
        side: Side,
        depth: int,
        row: int,
        upward: Upward,
        rating: float | None,
        contribution: float,
    ) -> Piece:
        """The piece at a row, of which `upward` makes the estimate."""
        identifier, title, prototype = self.behind.who(side, depth, row)
        shown: tuple[Piece, ...] = ()
        others = 0
        if not prototype:
            shown, others = self._evidence(side, depth, row, upward)
        return Piece(
            side=side,
            id=identifier,
            title=title,
            depth=depth,
            rating=rating,
            prototype=prototype,
            contribution=contribution,
            pieces=shown,
            others=others,
        )

    def _evidence(
        self, side: Side, depth: int, row: int, upward: Upward
    ) -> tuple[tuple[Piece, ...], int]:
        """The pieces behind a row whose loss would change most, and how many more there are."""
        sources, ratings = self.behind.links(side, depth, row)
        if depth >= self.deepest or not self.pieces:
            return (), len(sources)
        below = self.behind.rows[depth + 1, side.opposite][torch.from_numpy(sources)]
        links = torch.from_numpy(ratings)
        generator = self.chain.generator(side, depth)

        def without(k: int, instead: Tensor | None = None) -> float:
            kept = torch.arange(len(below)) != k
            parts, between = below[kept], links[kept]
            if instead is not None:
                parts = torch.cat([parts, instead.unsqueeze(0)])
                between = torch.cat([between, links[k : k + 1]])
            return upward(generator(parts, between) if len(parts) else None)

        amounts = torch.tensor([self.whole - without(k) for k in range(len(below))])
        order = torch.argsort(amounts.abs(), descending=True, stable=True).tolist()
        shown = tuple(
            self.piece(
                side.opposite,
                depth + 1,
                int(sources[k]),
                lambda instead, k=k: without(k, instead),  # type: ignore[misc]
                float(ratings[k]),
                float(amounts[k]),
            )
            for k in order[: self.pieces]
        )
        return shown, len(sources) - len(shown)
