"""Contributions by removal: the change in the estimate when a piece of evidence is removed.

In generators where pieces interact, such as a regression, there are no parts that add up. Each
piece is removed alone, the embeddings above it are generated again without it, and what the
estimate loses is the piece's contribution: exact, not by a gradient.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from evichain.evidence.plan import Block
from evichain.evidence.plan_layout import NO_INDICES, lay_out_links
from evichain.evidence.trace import REMOVAL, Piece, Trace
from evichain.kernels import Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.evidence_source import EvidenceSource, bare_piece
from evichain.model.generator import Generator
from evichain.ratings.side import Side


@dataclass(frozen=True)
class _Upward:
    """The estimate as a function of one embedding.

    Attributes:
        instead: the estimates with each of some rows in place of the embedding.
        gone: the estimate without the embedding.
    """

    instead: Callable[[Tensor], Tensor]
    gone: float


@torch.inference_mode()
def removal_trace(chain: Chain, source: EvidenceSource, *, pieces: int, depth: int) -> Trace:
    """The trace of a prediction, each piece with what the estimate loses without it."""
    tops = [chain.request_depth(side) for side in Side]
    roots = [
        source.embeddings(side, tops[side], np.array([source.root(side)], np.int32))
        for side in Side
    ]

    def upward(side: Side) -> _Upward:
        def instead(rows: Tensor) -> Tensor:
            other = roots[side.opposite]
            pair = (rows, other) if side is Side.USER else (other, rows)
            return chain.head.estimate(*pair)

        prior = chain.prior(side)
        assert prior is not None
        return _Upward(instead, float(instead(prior.unsqueeze(0))[0]))

    whole = float(chain.head.estimate(*roots)[0])

    def tree(side: Side) -> Piece:
        tracer, up = _RemovalTracer(chain, source, whole, pieces, depth, tops[side]), upward(side)
        return tracer.piece(side, tops[side], source.root(side), up, None, whole - up.gone)

    # Contributions are computed from the unclipped estimate; only the result is clipped.
    estimate = np.array([whole], np.float32)
    if chain.head.bounded:
        estimate = source.scale.within(estimate)
    return Trace(tree(Side.USER), tree(Side.ITEM), float(estimate[0]), kind=REMOVAL)


@dataclass(frozen=True)
class _RemovalTracer:
    """Makes the tree of one side.

    Attributes:
        whole: the estimate with all evidence.
        pieces, depth: how many pieces of each embedding to show, and how deep.
        top: the depth of the tree's root.
    """

    chain: Chain
    source: EvidenceSource
    whole: float
    pieces: int
    depth: int
    top: int

    def piece(
        self,
        side: Side,
        depth: int,
        position: int,
        upward: _Upward,
        rating: float | None,
        contribution: float,
    ) -> Piece:
        """The piece at a position; `upward` computes the estimate from its embedding."""
        piece = bare_piece(self.source, side, depth, position, rating, contribution)
        piece = replace(piece, depth=depth - self.top)
        if piece.prototype:
            return piece
        shown, others = self._evidence(side, depth, position, upward)
        return replace(piece, pieces=shown, others=others)

    def _evidence(
        self, side: Side, depth: int, position: int, upward: _Upward
    ) -> tuple[tuple[Piece, ...], int]:
        """The pieces of evidence whose removal changes most, and how many more there are."""
        positions, ratings = self.source.links(side, depth, position)
        if depth - self.top >= self.depth or not self.pieces or not len(positions):
            return (), len(positions)
        below = self.source.embeddings(side.opposite, depth + 1, positions)
        evidence = Alternatives(self.chain.generator(side, depth), below, ratings)
        gone = [upward.gone]
        if len(positions) > 1:
            gone = upward.instead(evidence.without(np.arange(len(positions)))).tolist()
        amounts = self.whole - torch.tensor(gone)
        order = torch.argsort(amounts.abs(), descending=True, stable=True).tolist()
        shown = tuple(
            self.piece(
                side.opposite,
                depth + 1,
                int(positions[k]),
                _Upward(
                    lambda rows, k=k: upward.instead(evidence.with_another(k, rows)),  # type: ignore[misc]
                    gone[k],
                ),
                float(ratings[k]),
                float(amounts[k]),
            )
            for k in order[: self.pieces]
        )
        return shown, len(positions) - len(shown)


@dataclass(frozen=True)
class Alternatives:
    """The evidence of one embedding, to generate it again from changed evidence."""

    generator: Generator
    below: Tensor
    ratings: Floats

    def without(self, pieces: Longs) -> Tensor:
        """The embedding without each of these pieces; at least one other piece remains."""
        everything = np.arange(len(self.ratings), dtype=np.int32)
        kept = everything[np.newaxis] != pieces[:, np.newaxis]
        left = np.broadcast_to(everything, kept.shape)[kept]
        return self._made(self.below, left.reshape(len(pieces), -1), left)

    def with_another(self, k: int, rows: Tensor) -> Tensor:
        """The embedding with each of these rows in the place of piece k."""
        count = len(self.ratings)
        pieces = np.tile(np.arange(count, dtype=np.int32), (len(rows), 1))
        sources = pieces.copy()
        sources[:, k] = count + np.arange(len(rows))
        return self._made(torch.cat([self.below, rows]), sources, pieces.ravel())

    def _made(self, below: Tensor, sources: Ints, pieces: Ints) -> Tensor:
        """An embedding for each row of sources; `pieces` says whose ratings link them."""
        ptr = np.arange(len(sources) + 1, dtype=np.int64) * sources.shape[1]
        alive = np.ones(len(below), np.bool_)
        layout, _ = lay_out_links(ptr, sources.ravel(), self.ratings[pieces], alive)
        return self.generator.generate(
            below, Block(NO_INDICES, np.arange(len(sources), dtype=np.int32), layout)
        )
