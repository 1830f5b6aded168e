"""A live engine that follows a store: what anyone writes there, it knows soon after."""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
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
from evichain.service.live.backend import LiveBackend
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
_JUDGED = 20
"""Of so many ratings that come at once, each is judged before it is learned from."""

_OFF_SCALE = "ratings in the store are off the model's scale, and count as its ends"

log = logging.getLogger("evichain.live")


class RecentErrors:
    """The errors on the latest ratings, each predicted before it was taken in."""

    def __init__(self, size: int = 1000) -> None:
        self._squares: deque[float] = deque(maxlen=size)

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
    """The ratings of a store behind a trained model, up to date.

    Whoever wrote to the store calls `catch_up`, and finds it in the next `snapshot`; whoever needs
    all that follows from it too calls `refresh`. After `start`, one thread finds what other
    processes write, and another one refreshes.

    Attributes:
        on_change: called with each new snapshot.
    """

    def __init__(self, model: REC, store: Store) -> None:
        self.model, self.store = model, store
        self.recent = RecentErrors()
        self.on_change: Callable[[Snapshot], None] = lambda snapshot: None
        self._lock, self._telling = Lock(), Lock()
        self._stop, self._news = Event(), Event()
        self._threads: list[Thread] = []
        self._live, self.titles = self._built()

    @property
    def snapshot(self) -> Snapshot:
        """Everything as of the latest version known here."""
        return self._live.snapshot

    @property
    def backend(self) -> LiveBackend:
        """What questions are answered from; take one for each request."""
        return LiveBackend(self.snapshot, self.titles)

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
        """Take in all that is in the store by now."""
        with self._lock:
            while True:
                live = self._live
                try:
                    found = self.store.changes_since(live.snapshot.version, _PORTION)
                except StaleVersionError:
                    self._live, self.titles = self._built()
                    self._tell(self._live)
                    continue
                if found.version == live.snapshot.version:
                    return live.snapshot
                self._take_in(live, found.changes, found.version)
                self._news.set()
                self._tell(live)

    def refresh(self) -> Snapshot:
        """Take in all that is in the store by now, and all that follows from it."""
        self.catch_up()
        return self._refresh()

    def native(self, side: Side, text: str) -> Id:
        """An id as the store is to know it: as it does already, or in the kind of its side.

        An id that could be an integer is one, unless those of its side are text.
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
        self._tell(live)
        return refreshed

    def _tell(self, live: LiveEngine) -> None:
        """Tell of an engine's latest snapshot, unless another engine has taken its place."""
        with self._telling:
            if live is self._live:
                self.on_change(live.snapshot)

    def _take_in(self, live: LiveEngine, stored: Sequence[Change], version: int) -> None:
        changes: list[RatingChange] = []
        named: dict[Id, str | None] = {}
        for change in stored:
            match change:
                case Rated():
                    changes.append(RatingChange(change.user, change.item, self._cut(change.rating)))
                case Unrated():
                    changes.append(RatingChange(change.user, change.item))
                case Erased():
                    changes.append(RatingChange(change.user, None))
                case Titled():
                    named[change.item] = change.title
        if len(changes) <= _JUDGED:
            self._judge(live.snapshot, changes)
        if named:
            self.titles = self.titles.changed(named)
        live.apply(changes, version)

    def _cut(self, rating: float) -> float:
        """A rating on the model's scale, whatever others have written to the store."""
        scale = self.model.graph.scale
        if not scale.holds(rating):
            log.warning(_OFF_SCALE, extra={"low": scale.low, "high": scale.high, "ratings": 1})
        return min(max(rating, scale.low), scale.high)

    def _judge(self, snapshot: Snapshot, changes: Sequence[RatingChange]) -> None:
        backend = LiveBackend(snapshot, self.titles)
        for change in changes:
            if change.item is None or change.rating is None:
                continue
            user = find_user(backend, change.user, required=False)
            (found,) = predict(backend, user, [change.item])
            self.recent.add(found.estimate - change.rating)

    def _built(self) -> tuple[LiveEngine, TitleIndex]:
        """Everything anew, from the ratings in the store."""
        with self.store.snapshot() as stored:
            version, ratings, titles = stored.version, stored.ratings(), stored.titles()
            # Among text, a table has them as text; the store must not get them twice.
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
                # Another version, not only a later one: a store may be put back from a back-up.
                if self.store.wait(self.snapshot.version, _WAIT) != self.snapshot.version:
                    self.catch_up()
            except StoreUnavailableError:
                self._stop.wait(_WAIT)
            except Exception:
                # Whatever it was: who stops following answers from the past for ever.
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
                # Those who ask have the processor meanwhile, and more ratings refresh together.
                self._stop.wait(min(time.monotonic() - begun, _REST))
            except Exception:
                log.exception("cannot refresh what has changed")
                self._stop.wait(10 * _WAIT)
                self._news.set()
