"""The way down: which evidence a batch needs, each entity once per depth."""

from dataclasses import dataclass

import numpy as np

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import Hidden, select
from evichain.kernels import Codes, Floats, Int, Ints, Keys, Longs, kernel
from evichain.ratings.hashing import mix
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side

NO_REFERENCE = np.int32(np.iinfo(np.int32).min)
"""Refers to no embedding: an unknown entity, or an entity at the bottom without a stored one."""


@dataclass(frozen=True)
class Frontier:
    """What is requested of one side at one depth: prototypes by slot, others by index.

    References into a frontier are n for `entities[n]`, -1 - n for `prototypes[n]`.
    """

    prototypes: Ints
    entities: Ints


@dataclass(frozen=True)
class Links:
    """The evidence selected for a frontier's entities, row by row.

    `ref` points into the frontier one depth below; `entity` is the index of the evidence
    on its side and `value` the rating that links the two.
    """

    ptr: Longs
    ref: Ints
    entity: Ints
    value: Floats


def requested(
    pool: Pool, policy: Policy, side: Side, depth: int, entities: Ints
) -> tuple[Frontier, Ints]:
    """The frontier of requests at a depth, and the reference of each request."""
    refs = np.empty(len(entities), np.int32)
    found = _intern_all(entities, pool.sides[side].slot, policy.stored(depth), False, refs)
    return Frontier(*found), refs


def joined(first: Frontier, second: Frontier, refs: Ints) -> tuple[Frontier, Ints]:
    """One frontier of all that two request, numbered as in the first one.

    Also returns `refs`, which point into the second, as references into the joined one.
    """
    parts, numbers = [], []
    for mine, theirs in zip(
        (first.prototypes, first.entities), (second.prototypes, second.entities), strict=True
    ):
        number_of = {entity: number for number, entity in enumerate(mine.tolist())}
        for entity in theirs.tolist():
            number_of.setdefault(entity, len(number_of))
        parts.append(np.array(list(number_of), np.int32))
        numbers.append(np.array([number_of[entity] for entity in theirs.tolist()], np.int32))
    stored = (refs < 0) & (refs != NO_REFERENCE)
    moved = refs.copy()
    moved[stored] = -1 - numbers[0][-1 - refs[stored]]
    moved[refs >= 0] = numbers[1][refs[refs >= 0]]
    return Frontier(parts[0], parts[1]), moved


def expand(
    pool: Pool,
    policy: Policy,
    side: Side,
    depth: int,
    targets: Ints,
    seed: int,
    hidden: Hidden,
    *,
    keep_dead: bool,
) -> tuple[Links, Frontier]:
    """Select the evidence of `targets`; the links to it, and the frontier it makes.

    `keep_dead` keeps links to non-prototypes at the deepest depth, which only counting needs.
    """
    graph, rows, other = pool.graph, pool.graph.rows[side], pool.sides[side.opposite]
    bottom = depth + 1 >= policy.max_depth
    ptr, ref, entity, value, prototypes, entities = _expand(
        targets,
        seed,
        int(side),
        depth,
        policy.limit(depth),
        policy.prioritizes(depth),
        policy.stored(depth + 1),
        bottom,
        keep_dead,
        graph.ids[side].keys,
        rows.indptr,
        rows.indices,
        rows.codes,
        graph.scale.levels,
        other.slot,
        other.cited_ptr,
        other.cited,
        hidden.with_holdout(pool.holdout),
    )
    return Links(ptr, ref, entity, value), Frontier(prototypes, entities)


@kernel
def table_for(count: int, below: int) -> tuple[Longs, Ints]:
    """An empty table with room for `count` distinct keys from 0 up to `below`.

    Open addressing, unless an array over all possible keys is smaller: then `keys` is empty.
    """
    size = 16
    while size < 2 * count:
        size *= 2
    if below <= 3 * size:
        return np.empty(0, np.int64), np.full(below, -1, np.int32)
    return np.full(size, -1, np.int64), np.empty(size, np.int32)


@kernel
def intern(keys: Longs, numbers: Ints, key: Int, fresh: int) -> Int:
    """The number of `key`; `fresh` when it is new, which then is its number."""
    if len(keys) == 0:
        if numbers[key] < 0:
            numbers[key] = fresh
        return np.int32(numbers[key])
    mask = len(keys) - 1
    position = np.int64(mix(np.uint64(key)) & np.uint64(mask))
    while keys[position] != -1:
        if keys[position] == key:
            return np.int32(numbers[position])
        position = (position + 1) & mask
    keys[position] = key
    numbers[position] = fresh
    return np.int32(fresh)


@kernel
def _intern_all(
    entities: Ints, slot: Ints, stored: bool, bottom: bool, refs: Ints
) -> tuple[Ints, Ints]:
    """Write the reference of each entity; returns the distinct prototypes and other entities.

    At the bottom there are only prototypes.
    """
    keys, numbers = table_for(min(len(entities), len(slot)), len(slot))
    prototypes = np.empty(len(entities), np.int32)
    others = np.empty(len(entities), np.int32)
    p = n = 0
    for i in range(len(entities)):
        entity = entities[i]
        if entity != UNKNOWN and stored and slot[entity] >= 0:
            number = intern(keys, numbers, entity, p)
            refs[i] = -1 - number
            if number == p:
                prototypes[p] = slot[entity]
                p += 1
        elif entity == UNKNOWN or bottom:
            refs[i] = NO_REFERENCE
        else:
            number = intern(keys, numbers, entity, n)
            refs[i] = number
            if number == n:
                others[n] = entity
                n += 1
    return prototypes[:p].copy(), others[:n].copy()


@kernel
def _expand(
    targets: Ints,
    seed: int,
    side: int,
    depth: int,
    limit: int,
    prioritize: bool,
    stored: bool,
    bottom: bool,
    keep_dead: bool,
    own_keys: Keys,
    indptr: Longs,
    indices: Ints,
    codes: Codes,
    levels: Floats,
    slot: Ints,
    cited_ptr: Longs,
    cited: Ints,
    hidden: Hidden,
) -> tuple[Longs, Ints, Ints, Floats, Ints, Ints]:
    only_prototypes = bottom and not keep_dead
    capacity = widest = 0
    for i in range(len(targets)):
        wanted = min(limit, indptr[targets[i] + 1] - indptr[targets[i]])
        capacity += wanted
        widest = max(widest, wanted)
    ptr = np.zeros(len(targets) + 1, np.int64)
    entity = np.empty(capacity, np.int32)
    value = np.empty(capacity, np.float32)
    positions = np.empty(widest, np.int64)
    edges = 0
    for i in range(len(targets)):
        target = targets[i]
        wanted = min(limit, indptr[target + 1] - indptr[target])
        if only_prototypes and prioritize:
            wanted = min(wanted, cited_ptr[target + 1] - cited_ptr[target])
        found = select(
            positions[:wanted],
            seed,
            side,
            target,
            depth,
            prioritize,
            own_keys,
            indptr,
            indices,
            slot,
            cited_ptr,
            cited,
            hidden,
            only_prototypes,
        )
        for k in range(found):
            position = positions[k]
            if only_prototypes and slot[indices[position]] < 0:
                continue
            entity[edges] = indices[position]
            code = codes[position]
            value[edges] = levels[int(code)] if len(levels) > 0 else np.float32(code)
            edges += 1
        ptr[i + 1] = edges
    entity, value = entity[:edges].copy(), value[:edges].copy()
    ref = np.empty(edges, np.int32)
    prototypes, others = _intern_all(entity, slot, stored, bottom, ref)
    return ptr, ref, entity, value, prototypes, others
