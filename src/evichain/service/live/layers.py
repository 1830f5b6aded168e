"""The embeddings that answers are made from, kept up to date with the rows.

For every depth and side there is a layer; depth 0 of the users is generated when one asks.
When rows change, a layer is generated again where the evidence has changed or an embedding
among it has: from the bottom up, and no further than something differs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from evichain.evidence.choice import Evidence, choose
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Flags, Floats, Ints, Keys, Longs
from evichain.model.chain import Chain
from evichain.model.channels import ChannelGenerator
from evichain.model.layers import Layer, all_layers, layer, stored_layer
from evichain.ratings.rows import Rows
from evichain.ratings.side import Side
from evichain.service.live.growing import Growing, Roster
from evichain.service.live.pages import Pages
from evichain.service.live.rows import LiveRows, citations, cuts
from evichain.service.live.sums import MOST, Sums

Place = tuple[int, Side]
BothRows = tuple[LiveRows, LiveRows]
NOWHERE: Longs = np.empty(0, np.int64)


@dataclass(frozen=True)
class LiveLayer:
    """One version of a layer."""

    rows: Pages
    there: Pages

    @classmethod
    def of(cls, made: Layer) -> "LiveLayer":
        return cls(Pages.of(made.rows), Pages.of(made.there))

    def take(self, indices: Longs | Ints) -> Layer:
        """The layer of some entities alone."""
        return Layer(self.rows.take(indices), self.there.take(indices))

    def grown(self, length: int) -> "LiveLayer":
        """The next version, with nothing yet of entities that are new."""
        return LiveLayer(self.rows.grown(length), self.there.grown(length))

    def changed(self, indices: Longs, made: Layer) -> "LiveLayer":
        """The next version, with other embeddings of some entities."""
        return LiveLayer(
            self.rows.changed(indices, made.rows), self.there.changed(indices, made.there)
        )


LiveLayers = dict[Place, LiveLayer]


class Cited(NamedTuple):
    """Entities whose embedding differs, and the rows that have one of them for evidence.

    Attributes:
        changed: the entities.
        whose: the entity of each such row, once for each piece.
        which: the piece, by its place in `changed`.
        ratings: between the two.
    """

    changed: Longs
    whose: Longs
    which: Longs
    ratings: Floats


class Upkeep:
    """Makes the next version of all layers; the writer's own, not to be shared."""

    def __init__(
        self, chain: Chain, pool: Pool, policy: Policy, rosters: tuple[Roster, Roster]
    ) -> None:
        self.chain, self.policy, self.rosters = chain, policy, rosters
        made = all_layers(chain, pool, policy)
        self.first: LiveLayers = {
            place: LiveLayer.of(whole) for place, whole in made.items() if self._kept(place)
        }
        self._cuts = {place: Growing(self._first_cuts(pool, place)) for place in self.first}
        self._sums = self._first_sums(pool, made)

    def updated(
        self, layers: LiveLayers, before: BothRows, rows: BothRows, touched: tuple[Longs, Longs]
    ) -> tuple[LiveLayers, Longs]:
        """The next layers, after the rows of some entities have changed.

        Returns them, and the items whose embedding at depth 0 differs.
        """
        self._cut(rows, touched)
        new = dict(layers)
        changed: dict[Place, Longs] = {}
        try:
            for depth in reversed(range(self.policy.max_depth + 1)):
                for side in Side:
                    if (depth, side) in layers:
                        own = self._reselected(before[side], rows[side], touched[side], depth)
                        changed[depth, side] = self._update(
                            layers, new, rows, own, changed, (depth, side)
                        )
        except BaseException:
            # Half of a change may be in them, and nobody will ever see the layers that have it.
            for sums in self._sums.values():
                sums.forget()
            raise
        return new, changed.get((0, Side.ITEM), NOWHERE)

    def _update(
        self,
        before: LiveLayers,
        layers: LiveLayers,
        rows: BothRows,
        own: Longs,
        changed: dict[Place, Longs],
        place: Place,
    ) -> Longs:
        """Bring one layer up to date; which of its entities differ.

        Args:
            own: those who have other evidence than before.
        """
        depth, side = place
        slot = self.rosters[side].slot
        layers[place] = grown = layers[place].grown(len(slot))
        if depth == self.policy.max_depth:
            dirty = own
            made = stored_layer(self.chain, side, slot[dirty])
        else:
            cited = self._cited(rows, place, changed[depth + 1, side.opposite])
            dirty = np.union1d(own, cited.whose)
            if not len(dirty):
                return dirty
            if place in self._sums:
                old = before[depth + 1, side.opposite]
                made = self._summed(old, layers, rows, place, dirty, own, cited)
            else:
                made = self._generated(layers, rows, place, dirty)
        layers[place] = grown.changed(dirty, made)
        return dirty[_differs(grown.take(dirty), made)]

    def _reselected(self, before: LiveRows, after: LiveRows, touched: Longs, depth: int) -> Longs:
        """Who of these has other evidence at a depth than before, or was not there."""
        if depth == self.policy.max_depth:
            return touched[touched >= len(before)]
        old, new = (self._chosen(rows, touched, depth) for rows in (before, after))
        differ = [
            place
            for place in range(len(touched))
            if touched[place] >= len(before) or not _same(old, new, place)
        ]
        return touched[differ]

    def _chosen(self, rows: LiveRows, entities: Longs, depth: int) -> Evidence:
        part, side = rows.gather(entities), rows.side
        ratings, slot = part.codes.astype(np.float32), self.rosters[side.opposite].slot
        keys = self.rosters[side].keys[entities]
        return choose(part, ratings, keys, slot, self.policy, side, depth)

    def _summed(
        self,
        old: LiveLayer,
        layers: LiveLayers,
        rows: BothRows,
        place: Place,
        dirty: Longs,
        own: Longs,
        cited: Cited,
    ) -> Layer:
        """The same as `_generated`, from sums that are brought up to date.

        Args:
            old: the layer below, as it was.
        """
        (depth, side), sums = place, self._sums[place]
        within, beyond = np.split(dirty, np.searchsorted(dirty, [MOST]))
        kept = sums.kept(within)
        pieces = np.bincount(np.searchsorted(dirty, cited.whose), minlength=len(dirty))
        kept[kept] = ~sums.mostly(within[kept], pieces[: len(within)][kept])
        again = np.union1d(own[own < MOST], within[~kept])
        if len(again):
            part, ratings, keys, slots, below = self._sources(layers, rows, place, again)
            evidence = choose(part, ratings, keys, slots[1], self.policy, side, depth)
            sums.fill(again, evidence, below)
        known = np.flatnonzero((cited.whose < MOST) & ~np.isin(cited.whose, again))
        # One entity after the other, so that its sums are at hand for all of its pieces.
        known = known[np.argsort(cited.whose[known], kind="stable")]
        new = layers[depth + 1, side.opposite]
        used, which = np.unique(cited.which[known], return_inverse=True)
        sums.replace(
            cited.whose[known],
            which,
            cited.ratings[known],
            old.grown(len(new.rows)).take(cited.changed[used]),
            new.take(cited.changed[used]),
        )
        made = sums.made(within)
        if not len(beyond):
            return made
        others = self._generated(layers, rows, place, beyond)
        return Layer(
            np.concatenate([made.rows, others.rows]), np.concatenate([made.there, others.there])
        )

    def _generated(self, layers: LiveLayers, rows: BothRows, place: Place, wanted: Longs) -> Layer:
        depth, side = place
        parts = self._sources(layers, rows, place, wanted)
        return layer(self.chain, self.policy, side, depth, *parts)

    def _sources(
        self, layers: LiveLayers, rows: BothRows, place: Place, wanted: Longs
    ) -> tuple[Rows, Floats, Keys, tuple[Ints, Ints], Layer]:
        """What `layer` makes embeddings from: rows, ratings, keys, slots and those below."""
        depth, side = place
        part = rows[side].gather(wanted)
        # Only those that are met, by numbers of their own.
        met, numbers = np.unique(part.indices, return_inverse=True)
        part = replace(part, indices=numbers.astype(np.int32))
        below = layers[depth + 1, side.opposite].take(met)
        slots = self.rosters[side].slot[wanted], self.rosters[side.opposite].slot[met]
        ratings = part.codes.astype(np.float32, copy=False)
        return part, ratings, self.rosters[side].keys[wanted], slots, below

    def _cited(self, rows: BothRows, place: Place, changed: Longs) -> Cited:
        """Where these opposite entities are evidence there."""
        side = place[1]
        part = rows[side.opposite].gather(changed)
        own, other = self.rosters[side].keys, self.rosters[side.opposite].keys
        whose, which, where = citations(
            int(side), changed, part.indptr, part.indices, own, other, self._cuts[place].view
        )
        return Cited(changed, whose, which, part.codes[where].astype(np.float32, copy=False))

    def _cut(self, rows: BothRows, touched: tuple[Longs, Longs]) -> None:
        for side in Side:
            part = rows[side].gather(touched[side])
            own, other = self.rosters[side].keys, self.rosters[side.opposite].keys
            for depth in range(self.policy.max_depth):
                if (depth, side) not in self._cuts:
                    continue
                cut = self._cuts[depth, side]
                while len(cut.view) < len(own):
                    cut.append(0)
                limit = self.policy.limit(depth)
                cut.view[touched[side]] = cuts(
                    int(side), limit, touched[side], part.indptr, part.indices, own, other
                )

    def _first_cuts(self, pool: Pool, place: Place) -> Keys:
        depth, side = place
        rows, everyone = pool.graph.rows[side], np.arange(len(pool.graph.ids[side]))
        own, other = (pool.graph.ids[s].keys for s in (side, side.opposite))
        limit = self.policy.limit(depth)
        return cuts(int(side), limit, everyone, rows.indptr, rows.indices, own, other)

    def _first_sums(self, pool: Pool, made: Mapping[Place, Layer]) -> dict[Place, Sums]:
        """Sums of the items: of all layers, those in which most entities change."""
        found = {}
        for depth in range(self.policy.max_depth - 1):
            place, generator = (depth, Side.ITEM), self.chain.generator(Side.ITEM, depth)
            # Where prototypes come first or answer themselves, evidence is not only what is cut.
            special = self.policy.stored(depth) or self.policy.prioritizes(depth)
            if isinstance(generator, ChannelGenerator) and not special:
                found[place] = self._first_sum(pool, place, Sums(generator), made)
        return found

    def _first_sum(self, pool: Pool, place: Place, sums: Sums, made: Mapping[Place, Layer]) -> Sums:
        (depth, side), graph = place, pool.graph
        rows, some = graph.rows[side], np.arange(min(MOST, len(graph.ids[side])))
        whole = Rows(rows.indptr[: len(some) + 1], rows.indices, rows.codes)
        keys, ratings = graph.ids[side].keys, graph.scale.decode(rows.codes)
        slot, below = pool.sides[side.opposite].slot, made[depth + 1, side.opposite]
        evidence = choose(whole, ratings, keys, slot, self.policy, side, depth)
        sums.fill(some, evidence, below)
        # Kernels are compiled, or read from the disk, before anyone waits for them.
        nobody = Layer(below.rows[:0], below.there[:0])
        sums.replace(NOWHERE, NOWHERE, ratings[:0], nobody, nobody)
        sums.made(NOWHERE)
        return sums

    def _kept(self, place: Place) -> bool:
        return place != (0, Side.USER)


def _same(old: Evidence, new: Evidence, place: int) -> bool:
    """Whether an entity has the same evidence twice."""
    a, b = (slice(e.ptr[place], e.ptr[place + 1]) for e in (old, new))
    return np.array_equal(old.others[a], new.others[b]) and np.array_equal(
        old.ratings[a], new.ratings[b]
    )


def _differs(before: Layer, after: Layer) -> Flags:
    found: Flags = (before.there != after.there) | (before.rows != after.rows).any(axis=1)
    return found
