"""Evidence for a guest: a list of ratings by someone who is not in the graph."""

import numpy as np

from evichain.evidence.choice import choose
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints
from evichain.ratings.rows import build_rows
from evichain.ratings.side import Side


def guest_evidence(
    pool: Pool, policy: Policy, side: Side, others: Ints, ratings: Floats, *, key: int = 0
) -> tuple[Ints, Floats]:
    """Select evidence from a guest's ratings, as for an entity of the graph.

    Args:
        side: the side the guest is on; `others` are indices of the opposite one.
        key: the guest's stable key, if any; it decides which ratings are used beyond the limit.
    """
    keys = np.array([key], np.uint64)
    own = np.zeros(len(others), np.int32)
    opposite = pool.graph.ids[side.opposite].keys
    rows = build_rows(side, own, others, ratings.astype(np.float32), keys, opposite)
    slot = pool.sides[side.opposite].slot
    found = choose(rows, rows.codes.astype(np.float32), keys, slot, policy, side, depth=0)
    return found.others, found.ratings
