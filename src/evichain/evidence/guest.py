"""Evidence for someone who is in no graph: an ad-hoc list of ratings, nothing stored."""

import numpy as np

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool, cite
from evichain.evidence.selection import NOTHING_HIDDEN, STABLE, select
from evichain.kernels import Floats, Ints
from evichain.ratings.rows import build_rows
from evichain.ratings.side import Side


def guest_evidence(
    pool: Pool, policy: Policy, side: Side, others: Ints, ratings: Floats, *, key: int = 0
) -> tuple[Ints, Floats]:
    """What of a guest's ratings is evidence for them: the choice that a stored entity gets.

    Args:
        side: the side the guest is on; `others` are indices of the opposite one.
        key: the guest's key, should they have one; it settles what goes beyond the limit.
    """
    keys = np.array([key], np.uint64)
    own = np.zeros(len(others), np.int32)
    opposite = pool.graph.ids[side.opposite].keys
    rows = build_rows(side, own, others, ratings.astype(np.float32), keys, opposite)
    prototypes = pool.sides[side.opposite]
    cited_ptr, cited = cite(rows, prototypes.slot)
    out = np.empty(min(policy.limit(0), len(others)), np.int64)
    found = select(
        out,
        STABLE,
        int(side),
        0,
        0,
        policy.prioritizes(0),
        keys,
        rows.indptr,
        rows.indices,
        prototypes.slot,
        cited_ptr,
        cited,
        NOTHING_HIDDEN,
    )
    return rows.indices[out[:found]], rows.codes[out[:found]].astype(np.float32)
