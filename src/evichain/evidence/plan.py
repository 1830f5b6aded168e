"""The plan: all evidence for a batch of requests, compiled before any arithmetic.

For each side and depth there is a block. Its rows are the prototypes requested there, the
entities generated there, and their variants (cycle blocking). Blocks are computed from the bottom
up, each from the rows of the opposite side's block one depth below.

In data-parallel training all processes have the same plan; each generates a share of every block.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from evichain.evidence.counters import Counters, count
from evichain.evidence.expansion import NO_REFERENCE, Frontier, Links, expand, joined, requested
from evichain.evidence.plan_layout import NO_INDICES, Layout, LiveLinks, find_live, lay_out
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import NOTHING_HIDDEN, STABLE, Hidden
from evichain.kernels import Flags, Ints, Longs
from evichain.ratings.side import Side

WHOLE = (0, 1)
"""Share 0 of 1: the whole block."""


@dataclass
class Block:
    """The rows of one side at one depth, and the evidence of the generated ones.

    The layout is that of all entities, or of this process's share of them.
    """

    prototypes: Ints
    entities: Ints
    layout: Layout | None = None
    variant_node: Ints = field(default_factory=lambda: NO_INDICES)
    variant_pair: Ints = field(default_factory=lambda: NO_INDICES)
    share: slice | None = None

    @property
    def rows(self) -> int:
        return len(self.prototypes) + len(self.entities) + len(self.variant_node)


@dataclass(frozen=True)
class Plan:
    """The blocks by (depth, side).

    `tops[side]` is the depth of the requests of a side, and `rows[side]` the row of each request
    in the block at that depth (-1: nothing).
    """

    tops: tuple[int, int]
    blocks: dict[tuple[int, Side], Block]
    rows: tuple[Ints, Ints]
    counters: Counters | None = None

    def upward(self) -> Iterator[tuple[int, Side, Block]]:
        """The blocks from the bottom up: each comes after those it is computed from."""
        for depth, side in sorted(self.blocks, reverse=True):
            yield depth, side, self.blocks[depth, side]

    @property
    def pairs(self) -> int:
        """How many times a generator is evaluated: distinct (source, rating) by depth."""
        return sum(len(b.layout.pair_value) for b in self.blocks.values() if b.layout)

    @property
    def links(self) -> int:
        """How many pieces of evidence are averaged."""
        return sum(len(b.layout.link_pair) for b in self.blocks.values() if b.layout)


def make_plan(
    pool: Pool,
    policy: Policy,
    users: Ints,
    items: Ints,
    *,
    seed: int = STABLE,
    hidden: Hidden = NOTHING_HIDDEN,
    depth: int | None = None,
    share: tuple[int, int] = WHOLE,
    counting: bool = False,
) -> Plan:
    """Plan the embeddings of users and items given by index (UNKNOWN: nothing).

    Args:
        seed: draws the evidence; STABLE gives the choice used for serving.
        depth: the depth of the requests; that of predictions by default.
        hidden: what must not be evidence (see `selection.hide`).
        share: (number, count): the share of every block to generate; not with cycle blocking.
        counting: also count what the recursion would do.
    """
    tops = tuple(policy.request_depth(side) if depth is None else depth for side in Side)

    def descend(side: Side, entities: Ints, joining: Ints | None = None) -> "_Descent":
        top = tops[side]
        return _Descent(pool, policy, side, entities, seed, hidden, top, share, counting, joining)

    if policy.staggered and len(users) and len(items):
        assert not counting, "what both sides request is counted for neither"
        both = descend(Side.USER, users, items)
        return Plan((tops[0], tops[1]), both.blocks, (both.rows, both.joining_rows))
    found = [descend(side, who) for side, who in zip(Side, (users, items), strict=True)]
    counters = found[0].tally() + found[1].tally() if counting else None
    blocks = found[1].blocks | found[0].blocks
    return Plan((tops[0], tops[1]), blocks, (found[0].rows, found[1].rows), counters)


class _Descent:
    """The blocks below the requests of one side: sides alternate with depth.

    Args:
        joining: requests of the opposite side, one depth below, that share these blocks.
    """

    def __init__(
        self,
        pool: Pool,
        policy: Policy,
        side: Side,
        entities: Ints,
        seed: int,
        hidden: Hidden,
        top: int,
        share: tuple[int, int],
        counting: bool,
        joining: Ints | None = None,
    ) -> None:
        assert share == WHOLE or not policy.cycle_blocking, "variants are not shared"
        self.policy, self.top, self.share = policy, top, share
        frontier, self.refs = requested(pool, policy, side, top, entities)
        self.frontiers, self.links = [frontier], list[Links]()
        self.sides = [side]
        for depth in range(top, policy.max_depth):
            targets, at = self.frontiers[-1].entities, self.sides[-1]
            if not len(targets) and (joining is None or depth > top):
                break
            links, frontier = expand(
                pool, policy, at, depth, targets, seed, hidden, keep_dead=counting
            )
            if joining is not None and depth == top:
                own, refs = requested(pool, policy, at.opposite, depth + 1, joining)
                frontier, joining_refs = joined(frontier, own, refs)
            self.links.append(links)
            self.frontiers.append(frontier)
            self.sides.append(at.opposite)
        self.live_links = self._find_live()
        self.blocks, rows = self._lay_out()
        self.rows = _request_rows(self.refs, self.frontiers[0], rows[0])
        if joining is not None:
            self.joining_rows = _request_rows(joining_refs, self.frontiers[1], rows[1])

    def _find_live(self) -> list[LiveLinks]:
        live_links: list[LiveLinks] = []
        below: Links | None = None
        for layer in reversed(range(len(self.links))):
            found = find_live(
                self.frontiers[layer].entities,
                self.links[layer],
                below,
                live_links[0] if live_links else None,
                self.policy.cycle_blocking,
            )
            live_links.insert(0, found)
            below = self.links[layer]
        return live_links

    def _lay_out(self) -> tuple[dict[tuple[int, Side], Block], list[Ints]]:
        """The blocks, and for each layer the number of each entity among the generated ones."""
        blocks: dict[tuple[int, Side], Block] = {}
        deepest = self.frontiers[-1]
        below = Block(deepest.prototypes, NO_INDICES)
        below_row = np.full(len(deepest.entities), -1, np.int32)
        below_pair: Ints = NO_INDICES
        below_links: Longs = NO_INDICES.astype(np.int64)
        below_alive: Flags = NO_INDICES.astype(np.bool_)
        blocks[self.top + len(self.links), self.sides[-1]] = below
        rows = [below_row]
        for layer in reversed(range(len(self.links))):
            frontier, found = self.frontiers[layer], self.live_links[layer]
            own, part = found, None
            if self.share != WHOLE:
                own, part = found.share(self.links[layer].ptr, *self.share)
            layout, pair_of_link, variants = lay_out(
                self.links[layer],
                own,
                self.frontiers[layer + 1],
                below_row,
                below_alive,
                len(below.entities),
            )
            if len(variants):
                owner = np.searchsorted(below_links, variants, side="right") - 1
                below.variant_node = below_row[owner]
                below.variant_pair = below_pair[variants]
            live = found.count > 0
            below = Block(frontier.prototypes, frontier.entities[live], layout, share=part)
            below_row = np.where(live, np.cumsum(live, dtype=np.int32) - 1, -1).astype(np.int32)
            rows.insert(0, below_row)
            below_pair, below_links = pair_of_link, self.links[layer].ptr
            below_alive = found.alive
            blocks[self.top + layer, self.sides[layer]] = below
        return blocks, rows

    def tally(self) -> Counters:
        return count(self.policy, self.refs, self.frontiers, self.links, self.live_links)


def _request_rows(refs: Ints, frontier: Frontier, row: Ints) -> Ints:
    found = np.full(len(refs), -1, np.int32)
    stored = (refs < 0) & (refs != NO_REFERENCE)
    found[stored] = -1 - refs[stored]
    generated = refs >= 0
    if generated.any() and len(row):
        number = row[refs[generated]]
        found[generated] = np.where(number >= 0, number + len(frontier.prototypes), -1)
    return found
