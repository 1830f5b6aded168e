"""The selection of evidence: one function, used by the recursion, the plan and every engine.

It is a pure function of (seed, side, entity, depth, the entity's ratings), and reads no more of
a row than it needs. Rows are in hash order, so any window of a row is a uniform sample of it:

- with the seed STABLE the window begins at the row's start: the k smallest hashes, of
  which a new rating changes at most one;
- with any other seed it starts at a position drawn from (seed, side, entity, depth), and
  wraps around.
"""

from typing import NamedTuple

import numpy as np

from evichain.evidence.entity_sample import EVERYONE, EntitySample, belongs
from evichain.evidence.holdout import NO_HOLDOUT, Holdout, drawn, pair_key
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Bytes, Floats, Int, Ints, Keys, Longs, kernel
from evichain.ratings.hashing import mix
from evichain.ratings.side import Side

STABLE = 0


class Hidden(NamedTuple):
    """What must not be used as evidence.

    Attributes:
        pairs: a hash table of hidden pairs.
        taken: a bit for each slot of the table. Most pairs are not in it, and the bits fit in
            the nearest cache.
        share: how many of 2**32 other pairs are hidden; `seed` draws which.
        entity_sample: which entities may be evidence; prototypes always may.
        cold_start_share: how many of 2**32 entities are truncated to a few ratings at depth 0, to
            simulate cold start. `seed` draws which, and to how many: the logarithm of the count
            is uniform.
        holdout: the pairs held out for validation (see `Pool`).
    """

    pairs: Longs
    taken: Bytes
    share: int
    seed: int
    entity_sample: EntitySample = EVERYONE
    cold_start_share: int = 0
    holdout: Holdout = NO_HOLDOUT

    def with_holdout(self, holdout: Holdout) -> "Hidden":
        """The same, with the held-out pairs hidden too."""
        return self._replace(holdout=holdout)


NOTHING_HIDDEN = Hidden(np.empty(0, np.int64), np.empty(0, np.uint8), 0, 0)


def selected(
    pool: Pool,
    policy: Policy,
    side: Side,
    entity: int,
    depth: int,
    seed: int = STABLE,
    hidden: Hidden = NOTHING_HIDDEN,
) -> tuple[Ints, Floats]:
    """The evidence of one entity: opposite indices, and the ratings that link them."""
    rows, cited = pool.graph.rows[side], pool.sides[side.opposite]
    degree = int(rows.indptr[entity + 1] - rows.indptr[entity])
    out = np.empty(min(policy.limit(depth), degree), np.int64)
    found = select(
        out,
        seed,
        side,
        entity,
        depth,
        policy.prioritizes(depth),
        pool.graph.ids[side].keys,
        rows.indptr,
        rows.indices,
        cited.slot,
        cited.cited_ptr,
        cited.cited,
        hidden.with_holdout(pool.holdout),
        False,
    )
    positions = out[:found]
    return rows.indices[positions], pool.graph.scale.decode(rows.codes[positions])


def hide(
    users: Ints,
    items: Ints,
    *,
    dropout: float = 0.0,
    seed: int = 0,
    entity_sample: EntitySample = EVERYONE,
    cold_start_share: float = 0.0,
) -> Hidden:
    """Hide these pairs from all evidence, and the share `dropout` of all other pairs.

    Entities outside the sample are hidden too; the share `cold_start_share` of the requested
    entities is truncated to a few ratings.
    """
    size = 1 << max(4, int(len(users) * 2 - 1).bit_length() + 1) if len(users) else 0
    table, taken = np.full(size, -1, np.int64), np.zeros(size // 8, np.uint8)
    _fill(table, taken, users, items)
    return Hidden(
        table, taken, int(dropout * 2**32), seed, entity_sample, int(cold_start_share * 2**32)
    )


@kernel
def _fill(table: Longs, taken: Bytes, users: Ints, items: Ints) -> None:
    for i in range(len(users)):
        key = pair_key(0, np.int64(users[i]), np.int64(items[i]))
        position = np.int64(mix(np.uint64(key)) & np.uint64(len(table) - 1))
        while table[position] != -1 and table[position] != key:
            position = (position + 1) & (len(table) - 1)
        table[position] = key
        taken[position >> 3] |= np.uint8(1 << (position & 7))


@kernel
def _is_hidden(hidden: Hidden, side: int, entity: int, other: int) -> bool:
    table, holdout = hidden.pairs, hidden.holdout
    if len(table) == 0 and hidden.share == 0 and holdout.share == 0:
        return False
    key = pair_key(side, np.int64(entity), np.int64(other))
    if hidden.share > 0 and drawn(key, hidden.share, hidden.seed):
        return True
    if holdout.share > 0 and drawn(key, holdout.share, holdout.seed):
        return True
    if len(table) == 0:
        return False
    position = np.int64(mix(np.uint64(key)) & np.uint64(len(table) - 1))
    while (hidden.taken[position >> 3] >> (position & 7)) & 1:
        if table[position] == key:
            return True
        position = (position + 1) & (len(table) - 1)
    return False


@kernel
def _window_start(seed: int, side: int, key: int, depth: int, count: int) -> Int:
    if seed == 0 or count == 0:
        return 0
    draw = mix(np.uint64(seed) ^ mix(np.uint64(key) + np.uint64(2 * depth + side)))
    return np.int64(draw % np.uint64(count))


@kernel
def _known(hidden: Hidden, side: int, key: int, degree: int) -> Int:
    """How many ratings of a requested entity may be used."""
    draw = mix(np.uint64(hidden.seed) ^ mix(np.uint64(key) + np.uint64(side)))
    if (draw & np.uint64(0xFFFFFFFF)) >= np.uint64(hidden.cold_start_share):
        return degree
    return np.int64((degree + 1.0) ** ((draw >> np.uint64(32)) / 2.0**32))


@kernel
def select(
    out: Longs,
    seed: int,
    side: int,
    entity: int,
    depth: int,
    prioritize: bool,
    keys: Keys,
    indptr: Longs,
    indices: Ints,
    slot: Ints,
    cited_ptr: Longs,
    cited: Ints,
    hidden: Hidden,
    prototypes_only: bool,
) -> int:
    """Write the positions of the evidence into `out`, until it is full; return how many.

    `slot`, `cited_ptr` and `cited` are those of the opposite side's prototypes.
    `prototypes_only` skips all others, if the caller would drop them.
    """
    limit, found = len(out), 0
    if depth == 0 and hidden.cold_start_share > 0:
        degree = indptr[entity + 1] - indptr[entity]
        limit = min(limit, int(_known(hidden, side, keys[entity], degree)))
    if prioritize:
        first, count = cited_ptr[entity], cited_ptr[entity + 1] - cited_ptr[entity]
        start = _window_start(seed, side, keys[entity], depth, count)
        for i in range(first + start, first + start + count):
            if found == limit:
                return found
            position = indptr[entity] + cited[i if i < first + count else i - count]
            if not _is_hidden(hidden, side, entity, indices[position]):
                out[found] = position
                found += 1
        if prototypes_only:
            return found
    first, count = indptr[entity], indptr[entity + 1] - indptr[entity]
    start = _window_start(seed, side, keys[entity], depth, count)
    for i in range(first + start, first + start + count):
        if found == limit:
            return found
        position = i if i < first + count else i - count
        other = indices[position]
        # First, because on large data hardly any entity is in the sample.
        if not belongs(hidden.entity_sample, 1 - side, other) or (prioritize and slot[other] >= 0):
            continue
        if not _is_hidden(hidden, side, entity, other):
            out[found] = position
            found += 1
    return found
