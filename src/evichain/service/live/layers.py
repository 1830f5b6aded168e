"""The embeddings of all depths, updated when rows change.

There is a layer for every depth and side; depth 0 of users is computed on request. When rows
change, an embedding is computed again if its evidence or an embedding in its evidence changed:
from the bottom up, and only as far as something differs.
"""

from dataclasses import dataclass, replace

import numpy as np

from evichain.evidence.bulk_selection import Evidence, select_for_all
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Flags, Floats, Ints, Keys, Longs
from evichain.model.chain import Chain
from evichain.model.layers import Layer, all_layers, layer, stored_layer
from evichain.ratings.rows import Rows
from evichain.ratings.side import Side
from evichain.service.live.id_index import GrowingArray, IdIndex
from evichain.service.live.paged_array import PagedArray
from evichain.service.live.rows import LiveRows, cutoffs, dependents

LayerKey = tuple[int, Side]
BothRows = tuple[LiveRows, LiveRows]
NO_INDICES: Longs = np.empty(0, np.int64)


@dataclass(frozen=True)
class LiveLayer:
    """One version of a layer."""

    rows: PagedArray
    has_embedding: PagedArray

    @classmethod
    def of(cls, made: Layer) -> "LiveLayer":
        return cls(PagedArray.of(made.rows), PagedArray.of(made.has_embedding))

    def take(self, indices: Longs | Ints) -> Layer:
        """The layer of some entities alone."""
        return Layer(self.rows.take(indices), self.has_embedding.take(indices))

    def grown(self, length: int) -> "LiveLayer":
        """The next version, with empty rows for new entities."""
        return LiveLayer(self.rows.grown(length), self.has_embedding.grown(length))

    def changed(self, indices: Longs, made: Layer) -> "LiveLayer":
        """The next version, with new embeddings of some entities."""
        return LiveLayer(
            self.rows.changed(indices, made.rows),
            self.has_embedding.changed(indices, made.has_embedding),
        )


LiveLayers = dict[LayerKey, LiveLayer]


class LayerUpdater:
    """Computes the next version of all layers.

    Only one thread at a time may call `updated`, which keeps state; the rest is thread-safe.
    """

    def __init__(self, chain: Chain, policy: Policy, ids: tuple[IdIndex, IdIndex]) -> None:
        self.chain, self.policy, self.ids = chain, policy, ids
        self.items: LayerKey = policy.request_depth(Side.ITEM), Side.ITEM
        self._cutoffs: dict[LayerKey, GrowingArray] = {}

    def begun(self, pool: Pool) -> LiveLayers:
        """The first version."""
        made = all_layers(self.chain, pool, self.policy)
        del made[0, Side.USER]
        self._cutoffs = {key: GrowingArray(self._first_cutoffs(pool, key)) for key in made}
        return {key: LiveLayer.of(whole) for key, whole in made.items()}

    def updated(
        self, layers: LiveLayers, before: BothRows, rows: BothRows, touched: tuple[Longs, Longs]
    ) -> tuple[LiveLayers, Longs]:
        """The next layers, after the rows of some entities have changed.

        Returns them, and the items whose requested embedding differs.
        """
        self._update_cutoffs(rows, touched)
        new = dict(layers)
        changed: dict[LayerKey, Longs] = {}
        for key in self._upwards():
            depth, side = key
            dirty = self._reselected(before[side], rows[side], touched[side], depth)
            if depth < self.policy.max_depth:
                below = changed[depth + 1, side.opposite]
                dirty = np.union1d(dirty, self._dependents(rows, key, below))
            grown = new[key].grown(len(self.ids[side]))
            new[key] = self._with(new, grown, rows, key, dirty)
            changed[key] = dirty[_differs(grown.take(dirty), new[key].take(dirty))]
        return new, changed.get(self.items, NO_INDICES)

    def urgent(
        self, layers: LiveLayers, rows: BothRows, touched: tuple[Longs, Longs]
    ) -> tuple[Longs, Longs]:
        """The entities that have ratings but no embedding, or no ratings."""
        users, items = (
            entities[self._lacks(layers, entities, side) | _empty(rows[side], entities)]
            for entities, side in zip(touched, Side, strict=True)
        )
        return users, items

    def patched(
        self, layers: LiveLayers, rows: BothRows, urgent: tuple[Longs, Longs]
    ) -> LiveLayers:
        """The layers with embeddings of these entities; all others are unchanged."""
        new = dict(layers)
        for key in self._upwards():
            grown = new[key].grown(len(self.ids[key[1]]))
            new[key] = self._with(new, grown, rows, key, urgent[key[1]])
        return new

    def _lacks(self, layers: LiveLayers, entities: Longs, side: Side) -> Flags:
        """Which entities lack an embedding at the first depths, as far as these are stored."""
        top = self.policy.request_depth(Side.ITEM)
        found = np.zeros(len(entities), np.bool_)
        for key in ((top, side), (top + 1, side)):
            if key in layers:
                grown = layers[key].grown(len(self.ids[side]))
                found |= ~grown.has_embedding.take(entities)
        return found

    def _upwards(self) -> list[LayerKey]:
        """The keys of all stored layers, from the bottom up."""
        return sorted(self._cutoffs, reverse=True)

    def _with(
        self, layers: LiveLayers, old: LiveLayer, rows: BothRows, key: LayerKey, wanted: Longs
    ) -> LiveLayer:
        """A layer with some embeddings computed again from the layers below.

        Entities without ratings have none, not even prototypes: a fresh start would not know them.
        """
        depth, side = key
        if not len(wanted):
            return old
        if depth == self.policy.max_depth:
            made = stored_layer(self.chain, side, self.ids[side].slot[wanted])
            rated = ~_empty(rows[side], wanted)
        else:
            parts = self._sources(layers, rows, key, wanted)
            made = layer(self.chain, self.policy, side, depth, *parts)
            rated = np.diff(parts[0].indptr) > 0
        return old.changed(wanted, replace(made, has_embedding=made.has_embedding & rated))

    def _reselected(self, before: LiveRows, after: LiveRows, touched: Longs, depth: int) -> Longs:
        """The entities whose evidence at a depth may have changed, or that are new."""
        if depth == self.policy.max_depth:
            # There is no evidence at this depth, but entities may be new or gone.
            return touched
        old, new = (self._chosen(rows, touched, depth) for rows in (before, after))
        differ = [
            row
            for row in range(len(touched))
            if touched[row] >= len(before) or not _same(old, new, row)
        ]
        return touched[differ]

    def _chosen(self, rows: LiveRows, entities: Longs, depth: int) -> Evidence:
        part, side = rows.gather(entities), rows.side
        ratings, slot = part.codes.astype(np.float32), self.ids[side.opposite].slot
        keys = self.ids[side].keys[entities]
        return select_for_all(part, ratings, keys, slot, self.policy, side, depth)

    def _sources(
        self, layers: LiveLayers, rows: BothRows, key: LayerKey, wanted: Longs
    ) -> tuple[Rows, Floats, Keys, tuple[Ints, Ints], Layer]:
        """The input of `layer`: rows, ratings, keys, slots and the embeddings below."""
        depth, side = key
        part = rows[side].gather(wanted)
        # Only the entities in these rows, renumbered.
        numbers = np.zeros(len(self.ids[side.opposite]), np.int32)
        numbers[part.indices] = 1
        met = numbers.nonzero()[0]
        numbers[met] = np.arange(len(met), dtype=np.int32)
        part = replace(part, indices=numbers[part.indices])
        below = layers[depth + 1, side.opposite].take(met)
        slots = self.ids[side].slot[wanted], self.ids[side.opposite].slot[met]
        ratings = part.codes.astype(np.float32, copy=False)
        return part, ratings, self.ids[side].keys[wanted], slots, below

    def _dependents(self, rows: BothRows, key: LayerKey, changed: Longs) -> Longs:
        """The entities that have one of these opposite entities as evidence."""
        side = key[1]
        part = rows[side.opposite].gather(changed)
        own, other = self.ids[side].keys, self.ids[side.opposite].keys
        found = dependents(
            int(side), changed, part.indptr, part.indices, own, other, self._cutoffs[key].view
        )
        return found.nonzero()[0]

    def _update_cutoffs(self, rows: BothRows, touched: tuple[Longs, Longs]) -> None:
        for side in Side:
            part = rows[side].gather(touched[side])
            own, other = self.ids[side].keys, self.ids[side.opposite].keys
            for depth in range(self.policy.max_depth):
                if (depth, side) not in self._cutoffs:
                    continue
                cut = self._cutoffs[depth, side]
                while len(cut.view) < len(own):
                    cut.append(0)
                limit = self.policy.limit(depth)
                cut.view[touched[side]] = cutoffs(
                    int(side), limit, touched[side], part.indptr, part.indices, own, other
                )

    def _first_cutoffs(self, pool: Pool, key: LayerKey) -> Keys:
        depth, side = key
        rows, everyone = pool.graph.rows[side], np.arange(len(pool.graph.ids[side]))
        own, other = (pool.graph.ids[s].keys for s in (side, side.opposite))
        limit = self.policy.limit(depth)
        return cutoffs(int(side), limit, everyone, rows.indptr, rows.indices, own, other)


def _same(old: Evidence, new: Evidence, row: int) -> bool:
    """Whether an entity has the same evidence before and after."""
    a, b = (slice(e.ptr[row], e.ptr[row + 1]) for e in (old, new))
    return np.array_equal(old.others[a], new.others[b]) and np.array_equal(
        old.ratings[a], new.ratings[b]
    )


def _empty(rows: LiveRows, entities: Longs) -> Flags:
    return np.array([rows.count(entity) == 0 for entity in entities.tolist()], np.bool_)


def _differs(before: Layer, after: Layer) -> Flags:
    found: Flags = (before.has_embedding != after.has_embedding) | (before.rows != after.rows).any(
        axis=1
    )
    return found
