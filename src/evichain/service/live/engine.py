"""The live engine: writers make new versions, any number of readers use the latest one.

A rating counts in its user's answers at once, because they are computed from the user's ratings.
It also changes the embeddings of all entities that have the user or the item as evidence, and so
on. These may be thousands; `refresh` updates them for all ratings since the last refresh.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

import numpy as np

from evichain.answering.answers import best_items
from evichain.answering.graph_backend import GraphBackend
from evichain.answering.row_evidence import user_output
from evichain.kernels import Longs
from evichain.model.fold_in import fold_in_of
from evichain.model.inference import HeadOutput, read
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.service.live.id_index import IdIndex
from evichain.service.live.layers import NO_INDICES, BothRows, LayerUpdater, LiveLayers
from evichain.service.live.rows import LiveRows
from evichain.service.live.snapshot import Snapshot, all_item_outputs, patched

Touched = tuple[Longs, Longs]
"""Users and items whose rows have changed."""

_NONE_TOUCHED: Touched = (NO_INDICES, NO_INDICES)


class RatingChange(NamedTuple):
    """A new or changed rating; None removes it. Without an item, all ratings of the user."""

    user: Id
    item: Id | None
    rating: float | None = None


@dataclass(frozen=True)
class _RefreshedState:
    """Rows, and all embeddings computed from them."""

    version: int
    rows: BothRows
    layers: LiveLayers
    items: HeadOutput


class LiveEngine:
    """Answers from the latest snapshot; `apply` and `refresh` make the next one.

    After a refresh, the answers are those of an engine built from the present ratings.
    Embeddings are shared by all askers, so cycle blocking is off, whatever the model has.

    Args:
        start: a trained chain with the first ratings.
        version: the version of these ratings.
        scale: estimates are clipped to it; by default that of the first ratings.
    """

    def __init__(self, start: GraphBackend, version: int = 0, scale: Scale | None = None) -> None:
        chain, pool = start.chain, start.pool
        policy = start.settings.policy.model_copy(update={"cycle_blocking": False})
        ids = IdIndex(pool, Side.USER), IdIndex(pool, Side.ITEM)
        self._updater = LayerUpdater(chain, policy, ids)
        self._publishing, self._refreshing = Lock(), Lock()
        layers = self._updater.begun(pool)
        self._refreshed = _RefreshedState(
            version,
            (LiveRows.of(pool.graph, Side.USER), LiveRows.of(pool.graph, Side.ITEM)),
            layers,
            all_item_outputs(
                chain, layers[self._updater.items].take(np.arange(len(ids[Side.ITEM])))
            ),
        )
        self._pending = _NONE_TOUCHED
        self.snapshot = Snapshot(
            version=version,
            refreshed_version=version,
            chain=chain,
            fold_in=fold_in_of(chain),
            policy=policy,
            scale=scale or pool.graph.scale,
            ids=ids,
            rows=self._refreshed.rows,
            layers=layers,
            items=self._refreshed.items,
        )
        # Compile all kernels before the first request, by an empty update and an empty question.
        self._updater.updated(layers, self._refreshed.rows, self._refreshed.rows, _NONE_TOUCHED)
        nobody = self.snapshot.guest_row((), ())
        own = user_output(self.snapshot, nobody)
        best_items(self.snapshot, own, 1, nobody[0].astype(np.int64))

    def apply(self, changes: Iterable[RatingChange], version: int) -> Snapshot:
        """Apply changes in order; returns the snapshot with them.

        New entities get embeddings, and entities without ratings lose theirs. All others are
        updated by `refresh`.
        """
        with self._publishing:
            old = self.snapshot
            rows, touched = self._with_ratings(old, self._by_pair(old, changes))
            stale = old.refreshed_version < old.version or any(map(len, touched))
            refreshed = old.refreshed_version if stale else version
            new = replace(old, version=version, refreshed_version=refreshed, rows=rows)
            self.snapshot = self._patched(new, touched)
            self._pending = _union(self._pending, touched)
            return self.snapshot

    def refresh(self) -> Snapshot:
        """Update all embeddings that the changes so far affect; returns the new snapshot."""
        with self._refreshing:
            with self._publishing:
                aim, touched = self.snapshot, self._pending
                self._pending = _NONE_TOUCHED
            if not any(map(len, touched)):
                return aim
            try:
                refreshed = self._updated_state(self._refreshed, aim, touched)
            except BaseException:
                with self._publishing:
                    self._pending = _union(self._pending, touched)
                raise
            self._refreshed = refreshed
            with self._publishing:
                new = replace(
                    self.snapshot,
                    refreshed_version=refreshed.version,
                    layers=refreshed.layers,
                    items=refreshed.items,
                )
                if not any(map(len, self._pending)):
                    new = replace(new, refreshed_version=new.version)
                self.snapshot = self._patched(new, self._pending)
                return self.snapshot

    def _updated_state(
        self, old: _RefreshedState, aim: Snapshot, touched: Touched
    ) -> _RefreshedState:
        """The state computed from the ratings of a snapshot."""
        layers, differ = self._updater.updated(old.layers, old.rows, aim.rows, touched)
        items = self._read(old.items, layers, differ)
        return _RefreshedState(aim.version, aim.rows, layers, items)

    def _patched(self, new: Snapshot, touched: Touched) -> Snapshot:
        """The snapshot with embeddings of new entities, without those of entities that lost all."""
        urgent = self._updater.urgent(new.layers, new.rows, touched)
        if not any(map(len, urgent)):
            return new
        layers = self._updater.patched(new.layers, new.rows, urgent)
        return replace(new, layers=layers, items=self._read(new.items, layers, urgent[Side.ITEM]))

    def _read(self, items: HeadOutput, layers: LiveLayers, differ: Longs) -> HeadOutput:
        """The head output of every item, after some embeddings changed."""
        layer = layers[self._updater.items]
        # New items need a row, even without an embedding.
        differ = np.union1d(
            differ, np.arange(len(items.has_embedding) - 1, len(layer.has_embedding))
        )
        if not len(differ):
            return items
        made = layer.take(differ)
        fresh = read(self._updater.chain, Side.ITEM, made.rows, made.has_embedding)
        return patched(items, differ, len(layer.has_embedding), fresh)

    def _by_pair(
        self, old: Snapshot, changes: Iterable[RatingChange]
    ) -> dict[tuple[int, int], float | None]:
        """The final rating of each changed (user, item) pair."""
        users, items = old.ids
        found: dict[tuple[int, int], float | None] = {}
        for change in changes:
            if change.item is None:
                user = users.index(change.user)
                if user == UNKNOWN:
                    continue
                rated = old.row(Side.USER, user)[0].tolist()
                found.update(((user, item), None) for item in rated)
                found.update((pair, None) for pair in list(found) if pair[0] == user)
            elif change.rating is None:
                pair = users.index(change.user), items.index(change.item)
                if UNKNOWN not in pair:
                    found[pair] = None
            else:
                found[users.meet(change.user), items.meet(change.item)] = change.rating
        return found

    def _with_ratings(
        self, old: Snapshot, changes: dict[tuple[int, int], float | None]
    ) -> tuple[BothRows, Touched]:
        """The rows with these ratings, and the entities they belong to."""
        by: tuple[dict[int, dict[int, float | None]], ...] = ({}, {})
        for pair, rating in changes.items():
            for side in Side:
                by[side].setdefault(pair[side], {})[pair[side.opposite]] = rating
        keys = [id_index.keys for id_index in old.ids]
        users, items = (
            old.rows[side].changed(by[side], keys[side], keys[side.opposite]) for side in Side
        )
        return (users, items), (_sorted(by[Side.USER]), _sorted(by[Side.ITEM]))


def _sorted(entities: Iterable[int]) -> Longs:
    return np.array(sorted(entities), np.int64)


def _union(some: Touched, others: Touched) -> Touched:
    users, items = (np.union1d(*parts) for parts in zip(some, others, strict=True))
    return users, items
