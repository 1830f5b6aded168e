"""Selects the stable evidence of many entities at once, directly from their rows."""

from dataclasses import dataclass

import numpy as np

from evichain.evidence.plan_layout import Layout, lay_out_links
from evichain.evidence.policy import Policy
from evichain.evidence.pool import cite
from evichain.evidence.selection import NOTHING_HIDDEN, STABLE, select
from evichain.kernels import Flags, Floats, Ints, Keys, Longs, kernel
from evichain.ratings.rows import Rows
from evichain.ratings.side import Side


@dataclass(frozen=True)
class Evidence:
    """The evidence of entities: `others[ptr[i]:ptr[i + 1]]` and their `ratings` for entity i."""

    ptr: Longs
    others: Ints
    ratings: Floats

    def lay_out(self, alive: Flags) -> tuple[Layout, Flags]:
        """The layout for the arithmetic, and which entities have evidence that is alive.

        Args:
            alive: by index, which of the others have an embedding; they are the sources.
        """
        return lay_out_links(self.ptr, self.others, self.ratings, alive)


def select_for_all(
    rows: Rows, ratings: Floats, keys: Keys, slot: Ints, policy: Policy, side: Side, depth: int
) -> Evidence:
    """Select the evidence of each row at a depth, as `selection.select` does for one.

    Args:
        rows: in hash order, as those of a graph.
        ratings: what the codes of the rows stand for.
        keys: of the entities whose rows these are.
        slot: of the opposite side's entities, by index: the prototype's number, or -1.
    """
    ptr, positions = _select_for_all(
        int(side),
        depth,
        policy.limit(depth),
        policy.prioritizes(depth),
        depth + 1 >= policy.max_depth,
        keys,
        rows.indptr,
        rows.indices,
        slot,
        *cite(rows, slot),
    )
    return Evidence(ptr, rows.indices[positions], ratings[positions])


@kernel
def _select_for_all(
    side: int,
    depth: int,
    limit: int,
    prioritize: bool,
    bottom: bool,
    keys: Keys,
    indptr: Longs,
    indices: Ints,
    slot: Ints,
    cited_ptr: Longs,
    cited: Ints,
) -> tuple[Longs, Longs]:
    count = len(indptr) - 1
    ptr = np.zeros(count + 1, np.int64)
    for row in range(count):
        ptr[row + 1] = ptr[row] + min(limit, indptr[row + 1] - indptr[row])
    positions = np.empty(ptr[count], np.int64)
    found = 0
    for row in range(count):
        room = positions[found : found + ptr[row + 1] - ptr[row]]
        ptr[row] = found
        chosen = select(
            room,
            STABLE,
            side,
            row,
            depth,
            prioritize,
            keys,
            indptr,
            indices,
            slot,
            cited_ptr,
            cited,
            NOTHING_HIDDEN,
            bottom,
        )
        if bottom:
            # Only prototypes have an embedding there.
            kept = 0
            for k in range(chosen):
                if slot[indices[room[k]]] >= 0:
                    room[kept] = room[k]
                    kept += 1
            chosen = kept
        found += chosen
    ptr[count] = found
    return ptr, positions[:found].copy()
