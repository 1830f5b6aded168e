"""What stands behind the rows of a plan: whose they are, and what they are made from."""

from dataclasses import dataclass

from torch import Tensor

from evichain.evidence.plan import Plan
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints
from evichain.ratings.ids import Id
from evichain.ratings.side import Side


@dataclass(frozen=True)
class Behind:
    """A plan with its rows, and the way from them back to ids and ratings."""

    pool: Pool
    plan: Plan
    rows: dict[tuple[int, Side], Tensor]

    def links(self, side: Side, depth: int, row: int) -> tuple[Ints, Floats]:
        """The rows one depth below that a row is made from, and the ratings between."""
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

    def who(self, side: Side, depth: int, row: int) -> tuple[Id, str, bool]:
        """The id and the title of a row's entity, and whether its embedding is stored."""
        block = self.plan.blocks[depth, side]
        stored = row < len(block.prototypes)
        if stored:
            found = self.pool.ids[side][int(block.prototypes[row])]
        else:
            node = row - len(block.prototypes)
            if node >= len(block.entities):
                node = int(block.variant_node[node - len(block.entities)])
            found = self.pool.graph.ids[side][int(block.entities[node])]
        title = self.pool.graph.title(found) if side is Side.ITEM else str(found)
        return found, title, stored
