"""Where the evidence of a prediction comes from: entities, embeddings and ratings."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from evichain.evidence.plan import Plan
from evichain.evidence.pool import Pool
from evichain.evidence.trace import Piece
from evichain.kernels import Floats, Ints
from evichain.ratings.ids import Id
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side


class EvidenceSource(Protocol):
    """The embeddings of one prediction, each at a position within its side and depth."""

    @property
    def scale(self) -> Scale:
        """The scale of the ratings."""
        ...

    def root(self, side: Side) -> int:
        """The position, at depth 0, of the user or the item of the prediction."""
        ...

    def embeddings(self, side: Side, depth: int, positions: Ints) -> Tensor:
        """The embeddings at these positions, one per row."""
        ...

    def links(self, side: Side, depth: int, position: int) -> tuple[Ints, Floats]:
        """The positions of an embedding's evidence one depth below, and the ratings."""
        ...

    def who(self, side: Side, depth: int, position: int) -> tuple[Id, str, bool]:
        """The id and the title of an embedding's entity, and whether the embedding is stored."""
        ...


def bare_piece(
    source: EvidenceSource,
    side: Side,
    depth: int,
    position: int,
    rating: float | None,
    contribution: float,
) -> Piece:
    """The piece at a position, without its evidence."""
    identifier, title, prototype = source.who(side, depth, position)
    return Piece(side, identifier, title, depth, rating, prototype, contribution)


@dataclass(frozen=True)
class PlanSource:
    """A plan of one request with its rows; positions are rows of blocks."""

    pool: Pool
    plan: Plan
    rows: dict[tuple[int, Side], Tensor]

    @property
    def scale(self) -> Scale:
        return self.pool.graph.scale

    def root(self, side: Side) -> int:
        return int(self.plan.rows[side][0])

    def embeddings(self, side: Side, depth: int, positions: Ints) -> Tensor:
        return self.rows[depth, side][torch.from_numpy(positions)]

    def links(self, side: Side, depth: int, position: int) -> tuple[Ints, Floats]:
        block = self.plan.blocks[depth, side]
        layout = block.layout
        assert layout is not None
        node = position - len(block.prototypes)
        left_out = -1
        if node >= len(block.entities):
            variant = node - len(block.entities)
            node, left_out = int(block.variant_node[variant]), int(block.variant_pair[variant])
        pairs = layout.link_pair[layout.node_ptr[node] : layout.node_ptr[node + 1]]
        pairs = pairs[pairs != left_out]
        return layout.pair_source[pairs], layout.pair_value[pairs]

    def who(self, side: Side, depth: int, position: int) -> tuple[Id, str, bool]:
        block = self.plan.blocks[depth, side]
        stored = position < len(block.prototypes)
        if stored:
            found = self.pool.ids[side][int(block.prototypes[position])]
        else:
            node = position - len(block.prototypes)
            if node >= len(block.entities):
                node = int(block.variant_node[node - len(block.entities)])
            found = self.pool.graph.ids[side][int(block.entities[node])]
        title = self.pool.graph.title(found) if side is Side.ITEM else str(found)
        return found, title, stored
