"""A live engine that follows a store: it reads what any process writes there."""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event, Lock, Thread

import numpy as np

from evichain.answering.answers import predict
from evichain.answering.asker import find_user
from evichain.answering.graph_backend import GraphBackend
from evichain.errors import StaleVersionError, StoreUnavailableError
from evichain.evidence.pool import Pool
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.side import Side
from evichain.recommender import REC
from evichain.resources import lower_priority
from evichain.service.live.engine import LiveEngine, RatingChange
from evichain.service.live.snapshot import Snapshot
from evichain.service.live.title_index import TitleIndex
from evichain.service.store import Store
from evichain.service.store.id_types import integer
from evichain.service.store.records import Change, Erased, Rated, Titled, Unrated

_WAIT = 0.5
_PORTION = 1000
_REST = 1.0
"""Seconds after refreshing before it is done again, at most; else as many as it took."""
_RECENT = 1000
_PREDICTED = 20
"""Batches up to this size are predicted before they are applied, for the recent error."""

_OFF_SCALE = "ratings in the store are off the model's scale and were clipped to it"

log = logging.getLogger("evichain.live")


class RecentErrors:
    """The errors on the latest ratings, each predicted before it was taken in."""

    def __init__(self) -> None:
        self._squares: deque[float] = deque(maxlen=_RECENT)

    def add(self, error: float) -> None:
        """Add the difference between an estimate and the rating that then came."""
        self._squares.append(error * error)

    @property
    def count(self) -> int:
        return len(self._squares)

    @property
    def rmse(self) -> float | None:
        """The root mean squared error; None without any ratings."""
        squares = list(self._squares)
        return float(np.sqrt(np.mean(squares))) if squares else None


class StoreFollower:
    """A trained model with the present ratings of a store.

    After a write to the store, `catch_up` applies it to the next `snapshot`; `refresh` also
    updates all embeddings. After `start`, one thread reads what other processes write, and
    another one refreshes.

    Attributes:
        on_change: called with each new snapshot.
    """

    def __init__(self, model: REC, store: Store) -> None:
        self.model, self.store = model, store
        self.recent = RecentErrors()
        self.on_change: Callable[[Snapshot], None] = lambda snapshot: None
        self._lock, self._notifying = Lock(), Lock()
        self._stop, self._news = Event(), Event()
        self._threads: list[Thread] = []
        self._live, self.titles = self._build()

    @property
    def snapshot(self) -> Snapshot:
        """The latest snapshot."""
        return self._live.snapshot

    @property
    def backend(self) -> Snapshot:
        """The latest snapshot, with titles; take one for each request."""
        return replace(self.snapshot, titles=self.titles)

    def start(self) -> None:
        """Follow the store in the background."""
        for work, name in ((self._follow, "follow"), (self._keep_refreshing, "refresh")):
            thread = Thread(target=work, name=f"evichain-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop following."""
        self._stop.set()
        self._news.set()
        while self._threads:
            self._threads.pop().join()

    def catch_up(self) -> Snapshot:
        """Apply all changes in the store."""
        with self._lock:
            while True:
                live = self._live
                try:
                    found = self.store.changes_since(live.snapshot.version, _PORTION)
                except StaleVersionError:
                    self._live, self.titles = self._build()
                    self._notify(self._live)
                    continue
                if found.version == live.snapshot.version:
                    return live.snapshot
                self._apply(live, found.changes, found.version)
                self._news.set()
                self._notify(live)

    def refresh(self) -> Snapshot:
        """Apply all changes in the store, and update all embeddings."""
        self.catch_up()
        return self._refresh()

    def native(self, side: Side, text: str) -> Id:
        """An id in the type that the store has for it, or that is usual on its side.

        A new id that looks like an integer is one, unless the ids of its side are text.
        """
        id_index = self.snapshot.ids[side]
        index = id_index.index(text)
        if index != UNKNOWN:
            return int(text) if text in self._integers[side] else id_index[index]
        number = integer(text) if self.model.graph.ids[side].integers else None
        return text if number is None else number

    def _refresh(self) -> Snapshot:
        live = self._live
        refreshed = live.refresh()
        self._notify(live)
        return refreshed

    def _notify(self, live: LiveEngine) -> None:
        """Call `on_change`, unless another engine has replaced this one."""
        with self._notifying:
            if live is self._live:
                self.on_change(live.snapshot)

    def _apply(self, live: LiveEngine, stored: Sequence[Change], version: int) -> None:
        changes: list[RatingChange] = []
        named: dict[Id, str | None] = {}
        for change in stored:
            match change:
                case Rated():
                    changes.append(
                        RatingChange(change.user, change.item, self._clip(change.rating))
                    )
                case Unrated():
                    changes.append(RatingChange(change.user, change.item))
                case Erased():
                    changes.append(RatingChange(change.user, None))
                case Titled():
                    named[change.item] = change.title
        if len(changes) <= _PREDICTED:
            self._record_errors(live.snapshot, changes)
        if named:
            self.titles = self.titles.changed(named)
        live.apply(changes, version)

    def _clip(self, rating: float) -> float:
        """A rating clipped to the model's scale."""
        scale = self.model.graph.scale
        if not scale.holds(rating):
            log.warning(_OFF_SCALE, extra={"low": scale.low, "high": scale.high, "ratings": 1})
        return min(max(rating, scale.low), scale.high)

    def _record_errors(self, snapshot: Snapshot, changes: Sequence[RatingChange]) -> None:
        for change in changes:
            if change.item is None or change.rating is None:
                continue
            user = find_user(snapshot, change.user, required=False)
            (found,) = predict(snapshot, user, [change.item])
            self.recent.add(found.estimate - change.rating)

    def _build(self) -> tuple[LiveEngine, TitleIndex]:
        """A new engine from the ratings in the store."""
        with self.store.snapshot() as stored:
            version, ratings, titles = stored.version, stored.ratings(), stored.titles()
            # In a table with text ids these are text; the store must not get both.
            self._integers = tuple(frozenset(map(str, stored.integers(side))) for side in Side)
        engine = self.model.backend
        scale = engine.graph.scale
        off = int((~ratings.frame["rating"].is_between(scale.low, scale.high)).sum())
        if off:
            log.warning(_OFF_SCALE, extra={"low": scale.low, "high": scale.high, "ratings": off})
        graph = Graph.build(ratings.on(scale)) if len(ratings) else engine.graph.emptied()
        pool = Pool.of(graph, engine.pool.ids)
        live = LiveEngine(GraphBackend(engine.chain, pool, engine.settings), version, scale=scale)
        log.info("built from the store", extra={"version": version, "ratings": len(ratings)})
        return live, TitleIndex.of(titles)

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                # Any other version, not only a later one: a store may be restored from a backup.
                if self.store.wait(self.snapshot.version, _WAIT) != self.snapshot.version:
                    self.catch_up()
            except StoreUnavailableError:
                self._stop.wait(_WAIT)
            except Exception:
                # Go on after any error: otherwise answers would stay outdated.
                log.exception("cannot follow the store")
                self._stop.wait(10 * _WAIT)

    def _keep_refreshing(self) -> None:
        lower_priority()
        while self._news.wait():
            self._news.clear()
            # After clearing: `stop` sets both, this one first.
            if self._stop.is_set():
                return
            begun = time.monotonic()
            try:
                self._refresh()
                # Leave the processor to requests meanwhile, and let ratings share a refresh.
                self._stop.wait(min(time.monotonic() - begun, _REST))
            except Exception:
                log.exception("cannot refresh what has changed")
                self._stop.wait(10 * _WAIT)
                self._news.set()
