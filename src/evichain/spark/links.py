"""Links between entities, limited to those that can be evidence.

At each depth, evidence is the first entries of a row in hash order, with or without prototypes
first. So the first `limit` entries and the first `limit` prototypes of a row suffice for all
depths. Both can be found part by part, because the first of a row are among the first of its
parts. So an item with millions of ratings is cheap: no part passes on more than the limit.
"""

from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from evichain.kernels import Floats, Ints, Keys, Longs, kernel
from evichain.ratings.rows import build_rows
from evichain.ratings.side import Side
from evichain.spark.columns import keys_of, numbered, whole
from evichain.spark.shared import Shared

OWN, OTHER, RATING, TIME = "own", "other", "rating", "time"


class EvidenceLinks(NamedTuple):
    """Rows in hash order: row i holds `positions[ptr[i]:ptr[i + 1]]` of a table.

    Attributes:
        ids, others: the distinct ids of the entities, and of their evidence.
        keys, slots: of `ids`: stable keys, and prototype numbers or -1.
        other_slots: prototype numbers of `others`, or -1.
        indices: the index among `others` of each link's evidence.
    """

    ids: pa.Array
    keys: Keys
    slots: Ints
    others: pa.Array
    other_slots: Ints
    ptr: Longs
    positions: Longs
    indices: Ints


def limit_links(shared: Shared, side: Side, table: pa.Table) -> EvidenceLinks:
    """The links of a table that can be evidence for a side; of repeated pairs, the latest.

    Args:
        table: `own` and `other` ids, `rating` and, if known, `time`. Without times, or at equal
            times, the higher rating counts, because tables of Spark have no order.
    """
    own, ids = numbered(table[OWN])
    other, others = numbered(table[OTHER])
    keys, other_keys = keys_of(ids), keys_of(others)
    # Row numbers of the table instead of rating codes.
    positions: Any = np.arange(len(own))
    rows = build_rows(int(side), own, other, positions, keys, other_keys)
    ratings = whole(table[RATING]).to_numpy(zero_copy_only=False)
    times = np.zeros(len(own), np.int64)
    if TIME in table.column_names:
        times = np.array(whole(table[TIME]).to_numpy(zero_copy_only=False))
    slots = shared.slots(side, keys)
    other_slots = shared.slots(side.opposite, other_keys)
    ptr, kept = _limit(
        rows.indptr,
        rows.indices,
        cast(Longs, rows.codes),
        ratings.astype(np.float32),
        times,
        other_slots,
        shared.policy.limit(0),
    )
    return EvidenceLinks(ids, keys, slots, others, other_slots, ptr, kept, other[kept])


@kernel
def _limit(
    indptr: Longs,
    indices: Ints,
    positions: Longs,
    ratings: Floats,
    times: Longs,
    slot: Ints,
    limit: int,
) -> tuple[Longs, Longs]:
    ptr = np.zeros(len(indptr), np.int64)
    kept = np.empty(len(indices), np.int64)
    found = 0
    for row in range(len(indptr) - 1):
        met = prototypes = 0
        i = indptr[row]
        while i < indptr[row + 1]:
            other, best = indices[i], positions[i]
            i += 1
            # The same pair has the same hash, and so comes next.
            while i < indptr[row + 1] and indices[i] == other:
                position = positions[i]
                later = times[position] > times[best]
                if later or (times[position] == times[best] and ratings[position] > ratings[best]):
                    best = position
                i += 1
            prototype = slot[other] >= 0
            if met < limit or (prototype and prototypes < limit):
                kept[found] = best
                found += 1
            met += 1
            prototypes += prototype
        ptr[row + 1] = found
    return ptr, kept[:found].copy()
