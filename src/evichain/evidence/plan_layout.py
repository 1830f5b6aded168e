"""The way up: which links are live, and how they are laid out for the arithmetic.

With cycle blocking, the value of y as evidence for x leaves x out of y's mean. If x is not
among y's evidence, that is y's usual value. If it is, it is a variant of y, computed by
subtraction from y's sum.
"""

from dataclasses import dataclass

import numpy as np

from evichain.evidence.expansion import NO_REFERENCE, Frontier, Links, intern, table_for
from evichain.kernels import Bytes, Flags, Floats, Ints, Longs, kernel

EMPTY_PTR: Longs = np.zeros(1, np.int64)
NO_INDICES: Ints = np.empty(0, np.int32)

_BESIDE_LINKS = 32
"""The cost of an embedding besides its links, in links."""
_FEW = 64
"""A scale with more distinct ratings is treated as continuous."""


@dataclass(frozen=True)
class LiveLinks:
    """Which links are live, and which lead back to their own target.

    `mutual[e]` is the link one depth below that leads from e's evidence back to e's target,
    or -1; `count[i]` is the number of live links of entity i.
    """

    alive: Flags
    mutual: Longs
    count: Ints

    def share(self, ptr: Longs, number: int, of: int) -> tuple["LiveLinks", slice]:
        """The links of one share of the live entities only, and which entities these are.

        Shares have about equal cost, and all processes compute the same shares.

        Args:
            ptr: where the links of each entity begin.
        """
        live = np.flatnonzero(self.count)
        work = np.cumsum(self.count[live] + _BESIDE_LINKS)
        ends = [work[-1] * n / of if len(live) else 0 for n in (number, number + 1)]
        part = slice(*np.searchsorted(work, ends, side="right").tolist())
        kept = np.zeros(len(self.count), np.bool_)
        kept[live[part]] = True
        alive = self.alive & np.repeat(kept, np.diff(ptr))
        return LiveLinks(alive, self.mutual, np.where(kept, self.count, 0).astype(np.int32)), part


def find_live(
    targets: Ints, links: Links, below: Links | None, live_links: LiveLinks | None, blocking: bool
) -> LiveLinks:
    """Find the live links of one depth, given those of the depth below (none at the bottom)."""
    if below is None or live_links is None:
        below = Links(EMPTY_PTR, NO_INDICES, NO_INDICES, np.empty(0, np.float32))
        live_links = LiveLinks(np.empty(0, np.bool_), np.empty(0, np.int64), NO_INDICES)
    return LiveLinks(
        *_find_live(
            targets,
            links.ptr,
            links.ref,
            below.ptr,
            below.entity,
            live_links.alive,
            live_links.count,
            blocking,
        )
    )


@dataclass(frozen=True)
class Layout:
    """Live links as arrays for the arithmetic: distinct (source, rating) pairs, and means.

    Pairs are grouped by source: those of source s are `source_ptr[s]:source_ptr[s + 1]`.
    Node i is the mean of `link_pair[node_ptr[i]:node_ptr[i + 1]]`, and pair p is part of
    the nodes `pair_node[pair_ptr[p]:pair_ptr[p + 1]]`.
    """

    source_ptr: Longs
    pair_source: Ints
    pair_value: Floats
    node_ptr: Longs
    link_pair: Ints
    pair_ptr: Longs
    pair_node: Ints


def lay_out(
    links: Links,
    live_links: LiveLinks,
    below: Frontier,
    below_row: Ints,
    below_alive: Flags,
    below_nodes: int,
) -> tuple[Layout, Ints, Longs]:
    """Number the pairs behind the live links of one depth.

    Sources are the rows of the block below: its prototypes, its `below_nodes` live nodes
    (`below_row` gives each entity's number among them, `below_alive` flags its live links), then
    the variants found here.

    Returns the layout, the pair of every link (-1 for dead ones), and for each variant
    the link of the block below that it leaves out.
    """
    source, variants = _sources(
        links.ref,
        live_links.alive,
        live_links.mutual,
        len(below.prototypes),
        below_row,
        below_alive,
        below_nodes,
    )
    sources = len(below.prototypes) + below_nodes + len(variants)
    laid = _lay_out(
        links.ptr,
        live_links.alive,
        live_links.count,
        source,
        links.value,
        links.value.view(np.int32),
        sources,
    )
    return Layout(*laid[:7]), laid[7], variants


def lay_out_links(ptr: Longs, source: Ints, value: Floats, alive: Flags) -> tuple[Layout, Flags]:
    """The layout of links to sources of which some are alive, and which nodes have a live link.

    Nodes without one are left out of the layout.
    """
    live = alive[source]
    before = np.concatenate([[0], np.cumsum(live)])[ptr]
    count = np.diff(before).astype(np.int32)
    laid = _lay_out(ptr, live, count, source, value, value.view(np.int32), len(alive))
    return Layout(*laid[:7]), count > 0


@kernel
def _find_live(
    targets: Ints,
    ptr: Longs,
    ref: Ints,
    below_ptr: Longs,
    below_entity: Ints,
    below_alive: Flags,
    below_count: Ints,
    blocking: bool,
) -> tuple[Flags, Longs, Ints]:
    alive = np.zeros(len(ref), np.bool_)
    mutual = np.full(len(ref), -1, np.int64)
    count = np.zeros(len(targets), np.int32)
    nodes_below = len(below_count)
    for i in range(len(targets)):
        for e in range(ptr[i], ptr[i + 1]):
            node = ref[e]
            if node < 0:
                alive[e] = node != NO_REFERENCE
            elif node < nodes_below:
                parts = below_count[node]
                if blocking:
                    for m in range(below_ptr[node], below_ptr[node + 1]):
                        if below_entity[m] == targets[i]:
                            mutual[e] = m
                            parts -= below_alive[m]
                            break
                alive[e] = parts > 0
            count[i] += alive[e]
    return alive, mutual, count


@kernel
def _sources(
    ref: Ints,
    alive: Flags,
    mutual: Longs,
    prototypes: int,
    below_row: Ints,
    below_alive: Flags,
    below_nodes: int,
) -> tuple[Ints, Longs]:
    source = np.full(len(ref), -1, np.int32)
    variants = np.empty(len(ref), np.int64)
    found = 0
    for e in range(len(ref)):
        if not alive[e]:
            continue
        if ref[e] < 0:
            source[e] = -1 - ref[e]
        elif mutual[e] < 0 or not below_alive[mutual[e]]:
            source[e] = prototypes + below_row[ref[e]]
        else:
            source[e] = prototypes + below_nodes + found
            variants[found] = mutual[e]
            found += 1
    return source, variants[:found].copy()


@kernel
def _distinct_ratings(bits: Ints) -> tuple[int, Bytes]:
    """The number of distinct ratings (0 if there are too many), and which one each link has."""
    keys, numbers = table_for(_FEW, 1 << 32)
    kind = np.empty(len(bits), np.uint8)
    kinds = 0
    for e in range(len(bits)):
        kind[e] = intern(keys, numbers, np.int64(bits[e]) & 0xFFFFFFFF, kinds)
        kinds += kind[e] == kinds
        if kinds > _FEW:
            return 0, kind
    return kinds, kind


@kernel
def _lay_out(
    ptr: Longs, alive: Flags, count: Ints, source: Ints, value: Floats, bits: Ints, sources: int
) -> tuple[Longs, Ints, Floats, Longs, Ints, Longs, Ints, Ints]:
    live = nodes = 0
    for i in range(len(count)):
        live += count[i]
        nodes += count[i] > 0

    kinds, kind = _distinct_ratings(bits)
    if kinds:
        keys, numbers = table_for(min(live, sources * kinds), sources * kinds)
    else:
        keys, numbers = table_for(live, sources << 32)
    pair_of_link = np.full(len(source), -1, np.int32)
    first_link = np.empty(live, np.int64)
    source_ptr = np.zeros(sources + 1, np.int64)
    pairs = 0
    for e in range(len(source)):
        if alive[e]:
            own = np.int64(source[e])
            key = own * kinds + kind[e] if kinds else (own << 32) | (bits[e] & 0xFFFFFFFF)
            pair = intern(keys, numbers, key, pairs)
            if pair == pairs:
                first_link[pairs] = e
                source_ptr[source[e] + 1] += 1
                pairs += 1
            pair_of_link[e] = pair

    for s in range(sources):
        source_ptr[s + 1] += source_ptr[s]
    cursor = source_ptr[:-1].copy()
    renumbered = np.empty(pairs, np.int32)
    pair_source, pair_value = np.empty(pairs, np.int32), np.empty(pairs, np.float32)
    for pair in range(pairs):
        e = first_link[pair]
        position = cursor[source[e]]
        cursor[source[e]] += 1
        renumbered[pair] = position
        pair_source[position], pair_value[position] = source[e], value[e]

    node_ptr = np.zeros(nodes + 1, np.int64)
    link_pair = np.empty(live, np.int32)
    pair_ptr = np.zeros(pairs + 1, np.int64)
    node = links = 0
    for i in range(len(count)):
        for e in range(ptr[i], ptr[i + 1]):
            if alive[e]:
                pair_of_link[e] = renumbered[pair_of_link[e]]
                link_pair[links] = pair_of_link[e]
                pair_ptr[pair_of_link[e] + 1] += 1
                links += 1
        if count[i] > 0:
            node += 1
            node_ptr[node] = links

    for pair in range(pairs):
        pair_ptr[pair + 1] += pair_ptr[pair]
    back = pair_ptr[:-1].copy()
    pair_node = np.empty(live, np.int32)
    for node in range(nodes):
        for k in range(node_ptr[node], node_ptr[node + 1]):
            pair_node[back[link_pair[k]]] = node
            back[link_pair[k]] += 1
    return (
        source_ptr,
        pair_source,
        pair_value,
        node_ptr,
        link_pair,
        pair_ptr,
        pair_node,
        pair_of_link,
    )
