"""The pool: a graph, its prototypes with their positions in each row, and its held-out ratings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evichain.evidence.holdout import NO_HOLDOUT, Holdout
from evichain.kernels import Ints, Longs, kernel
from evichain.ratings.graph import Graph
from evichain.ratings.ids import Id
from evichain.ratings.rows import Rows
from evichain.ratings.side import Side


def most_rated(graph: Graph, side: Side, count: int) -> list[Id]:
    """The ids of the `count` entities with most ratings; ties go to the lower key."""
    degrees = graph.rows[side].degrees
    order = np.lexsort((graph.ids[side].keys, -degrees))[:count]
    chosen: list[Id] = graph.ids[side].values[order].to_list()
    return chosen


@dataclass(frozen=True)
class SidePool:
    """The prototypes of one side, and the rows of the entities that may cite them.

    `slot[i]` is the prototype number of entity i of this side, or -1. For entity j of the
    opposite side, `cited[cited_ptr[j]:cited_ptr[j + 1]]` are the positions of prototypes
    in its row, counted from the row's start.
    """

    count: int
    slot: Ints
    cited_ptr: Longs
    cited: Ints


@dataclass(frozen=True)
class Pool:
    """The prototypes of both sides of a graph, and which of its ratings are held out."""

    graph: Graph
    ids: tuple[Sequence[Id], Sequence[Id]]
    sides: tuple[SidePool, SidePool]
    holdout: Holdout = NO_HOLDOUT

    @classmethod
    def of(cls, graph: Graph, ids: tuple[Sequence[Id], Sequence[Id]]) -> "Pool":
        """Find these prototypes in a graph; those missing from the graph are never used."""
        user, item = (_side_pool(graph, side, ids[side]) for side in Side)
        return cls(graph, ids, (user, item))

    @classmethod
    def most_rated(cls, graph: Graph, counts: tuple[int, int]) -> "Pool":
        """The most rated entities of each side as prototypes."""
        user, item = (most_rated(graph, side, counts[side]) for side in Side)
        return cls.of(graph, (user, item))


def _side_pool(graph: Graph, side: Side, ids: Sequence[Id]) -> SidePool:
    slot = np.full(len(graph.ids[side]), -1, np.int32)
    index = graph.ids[side].index_once(ids)
    slot[index[index >= 0]] = np.flatnonzero(index >= 0)
    return SidePool(len(ids), slot, *cite(graph.rows[side.opposite], slot))


def cite(rows: Rows, slot: Ints) -> tuple[Longs, Ints]:
    """The positions of prototypes in each row, counted from the row's start, with row offsets."""
    cited_ptr = np.zeros(len(rows) + 1, np.int64)
    _cite(rows.indptr, rows.indices, slot, cited_ptr, np.empty(0, np.int32))
    np.cumsum(cited_ptr, out=cited_ptr)
    cited = np.empty(cited_ptr[-1], np.int32)
    _cite(rows.indptr, rows.indices, slot, cited_ptr, cited)
    return cited_ptr, cited


@kernel
def _cite(indptr: Longs, indices: Ints, slot: Ints, cited_ptr: Longs, cited: Ints) -> None:
    """Write the positions of prototypes; if `cited` is empty, only count into cited_ptr[j + 1]."""
    filling = len(cited) > 0
    for row in range(len(indptr) - 1):
        position = cited_ptr[row] if filling else 0
        for i in range(indptr[row], indptr[row + 1]):
            if slot[indices[i]] >= 0:
                if filling:
                    cited[position] = i - indptr[row]
                position += 1
        if not filling:
            cited_ptr[row + 1] = position
