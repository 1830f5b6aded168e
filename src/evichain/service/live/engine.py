"""The live engine: writers make versions, any number of readers ask the latest.

A rating counts in its user's answers at once: those are made from the user's ratings when asked.
It changes a little, too, the embeddings of all who have the user or the item for evidence, and of
those who have these. They may be thousands, and follow when `refresh` is called, for all ratings
that have come in the meantime at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

import numpy as np

from evichain.answering.answers import best_items
from evichain.answering.fold_in import user_output
from evichain.answering.graph_backend import GraphBackend
from evichain.kernels import Longs
from evichain.model.fold_in import FoldIn
from evichain.model.inference import HeadOutput, read
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.service.live.backend import LiveBackend
from evichain.service.live.id_index import IdIndex
from evichain.service.live.layers import NO_INDICES, BothRows, LayerUpdater, LiveLayers
from evichain.service.live.rows import LiveRows
from evichain.service.live.snapshot import Snapshot, all_item_outputs, patched
from evichain.service.live.title_index import TitleIndex

Touched = tuple[Longs, Longs]
"""Users and items whose rows have changed."""

_NONE_TOUCHED: Touched = (NO_INDICES, NO_INDICES)


class RatingChange(NamedTuple):
    """A rating that came or changed; None takes it back. Without an item: all of the user's."""

    user: Id
    item: Id | None
    rating: float | None = None


@dataclass(frozen=True)
class _RefreshedState:
    """Rows, and all embeddings as these rows make them."""

    version: int
    rows: BothRows
    layers: LiveLayers
    items: HeadOutput


class LiveEngine:
    """Answers from the latest snapshot; `apply` and `refresh` make the next one.

    Once refreshed, the answers are those of an engine built from the ratings as they are now.
    An embedding is kept for all who ask, so cycle blocking is off, whatever the model says.

    Args:
        engine: a trained chain on the ratings to begin with.
        version: of these ratings.
        scale: what estimates are cut to; that of the ratings to begin with by default.
    """

    def __init__(self, engine: GraphBackend, version: int = 0, scale: Scale | None = None) -> None:
        chain, pool = engine.chain, engine.pool
        policy = engine.settings.policy.model_copy(update={"cycle_blocking": False})
        ids = IdIndex(pool, Side.USER), IdIndex(pool, Side.ITEM)
        self._updater = LayerUpdater(chain, policy, ids)
        self._publishing, self._refreshing = Lock(), Lock()
        layers = self._updater.begun(pool)
        self._refreshed = _RefreshedState(
            version,
            (LiveRows.of(pool.graph, Side.USER), LiveRows.of(pool.graph, Side.ITEM)),
            layers,
            all_item_outputs(chain, layers[0, Side.ITEM].take(np.arange(len(ids[Side.ITEM])))),
        )
        self._waiting = _NONE_TOUCHED
        self.snapshot = Snapshot(
            version=version,
            refreshed_version=version,
            chain=chain,
            fold_in=FoldIn.of(chain),
            policy=policy,
            scale=scale or pool.graph.scale,
            ids=ids,
            rows=self._refreshed.rows,
            layers=layers,
            items=self._refreshed.items,
        )
        # Nothing changes, and nobody asks; but what it takes is compiled before somebody does.
        self._updater.updated(layers, self._refreshed.rows, self._refreshed.rows, _NONE_TOUCHED)
        backend = LiveBackend(self.snapshot, TitleIndex.of({}))
        nobody = self.snapshot.guest_row((), ())
        best_items(backend, user_output(backend, nobody), 1, nobody[0].astype(np.int64))

    def apply(self, changes: Iterable[RatingChange], version: int) -> Snapshot:
        """Take in changes, in their order, all at once; the snapshot that holds them.

        Who is new has embeddings from now on, and who has lost all ratings has none; those of all
        others follow by `refresh`.
        """
        with self._publishing:
            old = self.snapshot
            rows, touched = self._taken_in(old, self._by_pair(old, changes))
            stale = old.refreshed_version < old.version or any(map(len, touched))
            refreshed = old.refreshed_version if stale else version
            new = replace(old, version=version, refreshed_version=refreshed, rows=rows)
            self.snapshot = self._patched(new, touched)
            self._waiting = _together(self._waiting, touched)
            return self.snapshot

    def refresh(self) -> Snapshot:
        """Make again all that the changes up to now have changed; the snapshot that holds it."""
        with self._refreshing:
            with self._publishing:
                aim, touched = self.snapshot, self._waiting
                self._waiting = _NONE_TOUCHED
            if not any(map(len, touched)):
                return aim
            try:
                refreshed = self._followed(self._refreshed, aim, touched)
            except BaseException:
                with self._publishing:
                    self._waiting = _together(self._waiting, touched)
                raise
            self._refreshed = refreshed
            with self._publishing:
                new = replace(
                    self.snapshot,
                    refreshed_version=refreshed.version,
                    layers=refreshed.layers,
                    items=refreshed.items,
                )
                if not any(map(len, self._waiting)):
                    new = replace(new, refreshed_version=new.version)
                self.snapshot = self._patched(new, self._waiting)
                return self.snapshot

    def _followed(self, old: _RefreshedState, aim: Snapshot, touched: Touched) -> _RefreshedState:
        """Everything as the ratings of a snapshot make it."""
        layers, differ = self._updater.updated(old.layers, old.rows, aim.rows, touched)
        items = self._read(old.items, layers, differ)
        return _RefreshedState(aim.version, aim.rows, layers, items)

    def _patched(self, new: Snapshot, touched: Touched) -> Snapshot:
        """The snapshot with embeddings of who had none, and without those of who has no ratings."""
        urgent = self._updater.urgent(new.layers, new.rows, touched)
        if not any(map(len, urgent)):
            return new
        layers = self._updater.patched(new.layers, new.rows, urgent)
        return replace(new, layers=layers, items=self._read(new.items, layers, urgent[Side.ITEM]))

    def _read(self, items: HeadOutput, layers: LiveLayers, differ: Longs) -> HeadOutput:
        """What the head makes of every item, when some of them differ."""
        layer = layers[0, Side.ITEM]
        # Those that are new need a place, whether or not there is anything to say of them.
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
        """What becomes of each (user, item) pair that is mentioned."""
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

    def _taken_in(
        self, old: Snapshot, changes: dict[tuple[int, int], float | None]
    ) -> tuple[BothRows, Touched]:
        """The rows with these ratings, and whose they are."""
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


def _together(some: Touched, others: Touched) -> Touched:
    users, items = (np.union1d(*parts) for parts in zip(some, others, strict=True))
    return users, items
