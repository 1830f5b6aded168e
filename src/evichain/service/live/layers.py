"""The embeddings that answers are made from, kept up to date with the rows.

For every depth and side there is a layer; depth 0 of the users is generated when one asks.
When rows change, a layer is generated again where the evidence has changed or an embedding
among it has: from the bottom up, and no further than something differs.
"""

from dataclasses import dataclass, replace

import numpy as np

from evichain.evidence.choice import Evidence, choose
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Flags, Ints, Keys, Longs
from evichain.model.chain import Chain
from evichain.model.layers import Layer, all_layers, layer, stored_layer
from evichain.ratings.side import Side
from evichain.service.live.growing import Growing, Roster
from evichain.service.live.pages import Pages
from evichain.service.live.rows import LiveRows, citing, cuts

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

    def updated(
        self, layers: LiveLayers, before: BothRows, rows: BothRows, touched: tuple[Longs, Longs]
    ) -> tuple[LiveLayers, Longs]:
        """The next layers, after the rows of some entities have changed.

        Returns them, and the items whose embedding at depth 0 differs.
        """
        self._cut(rows, touched)
        new = dict(layers)
        changed: dict[Place, Longs] = {}
        for depth in reversed(range(self.policy.max_depth + 1)):
            for side in Side:
                if (depth, side) in layers:
                    own = self._reselected(before[side], rows[side], touched[side], depth)
                    changed[depth, side] = self._update(new, rows, own, changed, (depth, side))
        return new, changed.get((0, Side.ITEM), NOWHERE)

    def _update(
        self,
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
            below = changed[depth + 1, side.opposite]
            dirty = np.union1d(own, self._citing(rows, place, below))
            if not len(dirty):
                return dirty
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

    def _generated(self, layers: LiveLayers, rows: BothRows, place: Place, wanted: Longs) -> Layer:
        depth, side = place
        part = rows[side].gather(wanted)
        # Only those that are met, by numbers of their own.
        met, numbers = np.unique(part.indices, return_inverse=True)
        part = replace(part, indices=numbers.astype(np.int32))
        below = layers[depth + 1, side.opposite].take(met)
        slots = self.rosters[side].slot[wanted], self.rosters[side.opposite].slot[met]
        keys = self.rosters[side].keys[wanted]
        ratings = part.codes.astype(np.float32, copy=False)
        return layer(self.chain, self.policy, side, depth, part, ratings, keys, slots, below)

    def _citing(self, rows: BothRows, place: Place, below: Longs) -> Longs:
        """Who takes one of these opposite entities for evidence there."""
        if not len(below):
            return NOWHERE
        side = place[1]
        part = rows[side.opposite].gather(below)
        own, other = self.rosters[side].keys, self.rosters[side.opposite].keys
        return citing(
            int(side), below, part.indptr, part.indices, own, other, self._cuts[place].view
        )

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
