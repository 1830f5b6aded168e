"""Counts of ratings, users and items, updated at most every few seconds."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock

import numpy as np

from evichain.kernels import Longs
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.side import Side
from evichain.service.live.rows import LiveRows
from evichain.service.live.snapshot import Snapshot
from evichain.service.live.store_follower import StoreFollower

_MAX_AGE = 5.0


@dataclass(frozen=True)
class CatalogueCounts:
    """The counts at a version; `popular` are the ids of rated items, most ratings first.

    They are ids, because indices may change before they are used.
    """

    version: int
    ratings: int
    users: int
    items: int
    popular: Sequence[Id]

    def most_rated(self, snapshot: Snapshot, n: int) -> list[int]:
        """The indices of the first n items that still have ratings in a snapshot."""
        positions = (snapshot.index(Side.ITEM, item) for item in self.popular)
        return list(islice((position for position in positions if position != UNKNOWN), n))


class CachedCounts:
    """Counts, and keeps the result for a while: counting is linear in users and items."""

    def __init__(self, live: StoreFollower) -> None:
        self._live, self._lock = live, Lock()
        self._counted: CatalogueCounts | None = None
        self._at = 0.0

    def __call__(self) -> CatalogueCounts:
        """The counts, at most a few seconds old."""
        with self._lock:
            stale = time.monotonic() - self._at > _MAX_AGE
            snapshot = self._live.snapshot
            if self._counted is None or (stale and self._counted.version != snapshot.version):
                self._counted = counted(snapshot)
                self._at = time.monotonic()
            return self._counted


def counted(snapshot: Snapshot) -> CatalogueCounts:
    """Count everything."""
    users, items = (lengths(rows) for rows in snapshot.rows)
    popular = np.argsort(-items, kind="stable")[: np.count_nonzero(items)]
    id_index = snapshot.ids[Side.ITEM]
    return CatalogueCounts(
        snapshot.version,
        int(users.sum()),
        int(np.count_nonzero(users)),
        int(np.count_nonzero(items)),
        [id_index[position] for position in popular.tolist()],
    )


def lengths(rows: LiveRows) -> Longs:
    """The number of ratings of each entity of a side."""
    found = np.zeros(len(rows), np.int64)
    first = np.diff(rows.graph.rows[rows.side].indptr)
    found[: len(first)] = first
    newer = rows.newer.whole()
    for position in np.flatnonzero(newer != None).tolist():  # noqa: E711
        found[position] = len(newer[position][0])
    return found
