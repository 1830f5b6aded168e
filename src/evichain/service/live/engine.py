"""The live engine: one writer makes versions, any number of readers ask the latest."""

from collections.abc import Iterable
from threading import Lock
from typing import NamedTuple

import numpy as np

from evichain.engine import Engine
from evichain.kernels import Longs
from evichain.model.inference import read
from evichain.model.single import SingleUser
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.service.live.growing import Roster
from evichain.service.live.layers import Upkeep
from evichain.service.live.rows import LiveRows
from evichain.service.live.snapshot import Snapshot, all_ends, patched


class Change(NamedTuple):
    """A rating that came or changed; None takes it back. Without an item: all of the user's."""

    user: Id
    item: Id | None
    rating: float | None = None


class LiveEngine:
    """Answers from the latest snapshot; `apply` makes the next one.

    After any changes the answers are those of an engine built from the ratings as they are now.
    An embedding is kept for all who ask, so cycle blocking is off, whatever the model says.

    Args:
        engine: a trained chain on the ratings to begin with.
        version: of these ratings.
        scale: what estimates are cut to; that of the ratings to begin with by default.
    """

    def __init__(self, engine: Engine, version: int = 0, scale: Scale | None = None) -> None:
        chain, pool = engine.chain, engine.pool
        policy = engine.settings.policy.model_copy(update={"cycle_blocking": False})
        rosters = Roster(pool, Side.USER), Roster(pool, Side.ITEM)
        self._upkeep = Upkeep(chain, pool, policy, rosters)
        self._lock = Lock()
        everything = np.arange(len(rosters[Side.ITEM]))
        made = self._upkeep.first[0, Side.ITEM].take(everything)
        self.snapshot = Snapshot(
            version=version,
            chain=chain,
            single=SingleUser.of(chain),
            policy=policy,
            scale=scale or pool.graph.scale,
            rosters=rosters,
            rows=(LiveRows.of(pool.graph, Side.USER), LiveRows.of(pool.graph, Side.ITEM)),
            layers=self._upkeep.first,
            items=all_ends(chain, made),
        )
        # Nothing changes, and nobody asks; but what it takes is compiled before somebody does.
        self.apply((), version)
        nobody = self.snapshot.guest_row((), ())
        self.snapshot.best(self.snapshot.user(nobody), 1, nobody[0].astype(np.int64))

    def apply(self, changes: Iterable[Change], version: int) -> Snapshot:
        """Take in changes, in their order, all at once; the snapshot that holds them."""
        with self._lock:
            old = self.snapshot
            found = self._by_pair(old, changes)
            new = self._changed(old, found, version)
            self.snapshot = new
            return new

    def _by_pair(
        self, old: Snapshot, changes: Iterable[Change]
    ) -> dict[tuple[int, int], float | None]:
        """What becomes of each (user, item) pair that is mentioned."""
        users, items = old.rosters
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

    def _changed(
        self, old: Snapshot, changes: dict[tuple[int, int], float | None], version: int
    ) -> Snapshot:
        by: tuple[dict[int, dict[int, float | None]], ...] = ({}, {})
        for pair, rating in changes.items():
            for side in Side:
                by[side].setdefault(pair[side], {})[pair[side.opposite]] = rating
        keys = [roster.keys for roster in old.rosters]
        user_rows, item_rows = (
            old.rows[side].changed(by[side], keys[side], keys[side.opposite]) for side in Side
        )
        rows = (user_rows, item_rows)
        touched = _sorted(by[Side.USER]), _sorted(by[Side.ITEM])
        layers, differ = self._upkeep.updated(old.layers, old.rows, rows, touched)
        items, length = old.items, len(keys[Side.ITEM])
        # Those that are new need a place, whether or not there is anything to say of them.
        differ = np.union1d(differ, np.arange(len(items.there) - 1, length))
        if len(differ):
            made = layers[0, Side.ITEM].take(differ)
            fresh = read(old.chain, Side.ITEM, made.rows, made.there)
            items = patched(items, differ, length, fresh)
        return Snapshot(
            version=version,
            chain=old.chain,
            single=old.single,
            policy=old.policy,
            scale=old.scale,
            rosters=old.rosters,
            rows=rows,
            layers=layers,
            items=items,
        )


def _sorted(entities: Iterable[int]) -> Longs:
    return np.array(sorted(entities), np.int64)
