"""The live engine: writers make versions, any number of readers ask the latest.

A rating counts in its user's answers at once: those are made from the user's ratings when asked.
It changes a little, too, the embeddings of all who have the user or the item for evidence, and of
those who have these. They may be thousands, and follow when `settle` is called, for all ratings
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
from evichain.service.live.layers import NOWHERE, BothRows, LiveLayers, Upkeep
from evichain.service.live.rows import LiveRows
from evichain.service.live.snapshot import Snapshot, all_ends, patched
from evichain.service.live.titles import Titles

Touched = tuple[Longs, Longs]
"""Users and items whose rows have changed."""

_NOBODY: Touched = (NOWHERE, NOWHERE)


class Change(NamedTuple):
    """A rating that came or changed; None takes it back. Without an item: all of the user's."""

    user: Id
    item: Id | None
    rating: float | None = None


@dataclass(frozen=True)
class _Settled:
    """Rows, and all embeddings as these rows make them."""

    version: int
    rows: BothRows
    layers: LiveLayers
    items: HeadOutput


class LiveEngine:
    """Answers from the latest snapshot; `apply` and `settle` make the next one.

    Once settled, the answers are those of an engine built from the ratings as they are now.
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
        self._upkeep = Upkeep(chain, policy, ids)
        self._publishing, self._settling = Lock(), Lock()
        layers = self._upkeep.begun(pool)
        self._settled = _Settled(
            version,
            (LiveRows.of(pool.graph, Side.USER), LiveRows.of(pool.graph, Side.ITEM)),
            layers,
            all_ends(chain, layers[0, Side.ITEM].take(np.arange(len(ids[Side.ITEM])))),
        )
        self._waiting = _NOBODY
        self.snapshot = Snapshot(
            version=version,
            settled=version,
            chain=chain,
            fold_in=FoldIn.of(chain),
            policy=policy,
            scale=scale or pool.graph.scale,
            ids=ids,
            rows=self._settled.rows,
            layers=layers,
            items=self._settled.items,
        )
        # Nothing changes, and nobody asks; but what it takes is compiled before somebody does.
        self._upkeep.updated(layers, self._settled.rows, self._settled.rows, _NOBODY)
        backend = LiveBackend(self.snapshot, Titles.of({}))
        nobody = self.snapshot.guest_row((), ())
        best_items(backend, user_output(backend, nobody), 1, nobody[0].astype(np.int64))

    def apply(self, changes: Iterable[Change], version: int) -> Snapshot:
        """Take in changes, in their order, all at once; the snapshot that holds them.

        Who is new has embeddings from now on, and who has lost all ratings has none; those of all
        others follow by `settle`.
        """
        with self._publishing:
            old = self.snapshot
            rows, touched = self._taken_in(old, self._by_pair(old, changes))
            unsettled = old.settled < old.version or any(map(len, touched))
            settled = old.settled if unsettled else version
            new = replace(old, version=version, settled=settled, rows=rows)
            self.snapshot = self._patched(new, touched)
            self._waiting = _together(self._waiting, touched)
            return self.snapshot

    def settle(self) -> Snapshot:
        """Make again all that the changes up to now have changed; the snapshot that holds it."""
        with self._settling:
            with self._publishing:
                aim, touched = self.snapshot, self._waiting
                self._waiting = _NOBODY
            if not any(map(len, touched)):
                return aim
            try:
                settled = self._followed(self._settled, aim, touched)
            except BaseException:
                with self._publishing:
                    self._waiting = _together(self._waiting, touched)
                raise
            self._settled = settled
            with self._publishing:
                new = replace(
                    self.snapshot,
                    settled=settled.version,
                    layers=settled.layers,
                    items=settled.items,
                )
                if not any(map(len, self._waiting)):
                    new = replace(new, settled=new.version)
                self.snapshot = self._patched(new, self._waiting)
                return self.snapshot

    def _followed(self, old: _Settled, aim: Snapshot, touched: Touched) -> _Settled:
        """Everything as the ratings of a snapshot make it."""
        layers, differ = self._upkeep.updated(old.layers, old.rows, aim.rows, touched)
        items = self._read(old.items, layers, differ)
        return _Settled(aim.version, aim.rows, layers, items)

    def _patched(self, new: Snapshot, touched: Touched) -> Snapshot:
        """The snapshot with embeddings of who had none, and without those of who has no ratings."""
        urgent = self._upkeep.urgent(new.layers, new.rows, touched)
        if not any(map(len, urgent)):
            return new
        layers = self._upkeep.patched(new.layers, new.rows, urgent)
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
        fresh = read(self._upkeep.chain, Side.ITEM, made.rows, made.has_embedding)
        return patched(items, differ, len(layer.has_embedding), fresh)

    def _by_pair(
        self, old: Snapshot, changes: Iterable[Change]
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
