"""What the routes share: the live model, worker threads, metrics; one of each per application."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from evichain.errors import DataError, StoreError
from evichain.ratings.ids import Id
from evichain.ratings.side import Side
from evichain.service.http.catalogue_counts import CachedCounts
from evichain.service.http.limits import ConcurrencyLimit
from evichain.service.http.metrics import Metrics
from evichain.service.http.problems import ProblemError
from evichain.service.http.settings import ServiceSettings
from evichain.service.live.snapshot import Snapshot
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store.checks import checked_id

P = ParamSpec("P")
R = TypeVar("R")
_STORE_CHECK_SECONDS = 1.0


class WorkerThreads:
    """Threads for slow work, with a timeout; work that has not begun by then is dropped.

    The queue is bounded by the limit on requests in progress.
    """

    def __init__(self, threads: int, timeout: float, retry_after: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="evichain-work")
        self._timeout, self._retry_after = timeout, retry_after

    async def __call__(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function in a thread and return its result."""
        future = self._threads.submit(function, *args, **kwargs)
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            future.cancel()
            raise ProblemError(
                503,
                f"This took more than {self._timeout:g} seconds. A write may have happened.",
                retry_after=self._retry_after,
            ) from None

    def later(self, function: Callable[[], object]) -> None:
        """Run a function in a thread without waiting for it."""
        self._threads.submit(function)

    def close(self) -> None:
        """Stop the threads when their current work is done."""
        self._threads.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True)
class Service:
    """What an application consists of.

    Attributes:
        store_threads: for all work that needs the store: writes and listings.
        compute_threads: for slow work from memory. Separate from `store_threads`, because those
            may all be waiting for a slow store.
        refresh_waiters: limits the writes that wait for a refresh of the embeddings to half of
            the requests in progress, so that questions always find room.
    """

    live: StoreFollower
    settings: ServiceSettings
    metrics: Metrics
    store_threads: WorkerThreads
    compute_threads: WorkerThreads
    refresh_threads: WorkerThreads
    export_threads: WorkerThreads
    health_threads: WorkerThreads
    refresh_waiters: ConcurrencyLimit
    counts: CachedCounts
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, live: StoreFollower, settings: ServiceSettings) -> "Service":
        def work(threads: int, timeout: float = settings.timeout) -> WorkerThreads:
            return WorkerThreads(threads, timeout, settings.retry_after)

        settings.check(live.snapshot.scale)
        metrics = Metrics()
        metrics.changed(live.snapshot)
        live.on_change = metrics.changed
        return cls(
            live,
            settings,
            metrics,
            work(settings.threads),
            work(settings.threads),
            # One thread: one refresh serves all writes that wait for it.
            work(1, settings.refresh_timeout),
            work(settings.exports),
            work(1),
            ConcurrencyLimit(max(1, settings.in_progress // 2)),
            CachedCounts(live),
        )

    @property
    def backend(self) -> Snapshot:
        """The present state; take one for each request."""
        return self.live.backend

    def native(self, side: Side, text: str) -> Id:
        """An id from a path or a body, in the type that the store has for it."""
        return checked_id(self.live.native(side, text), side)

    async def write(self, change: Callable[[], R], *, refresh: bool = False) -> R:
        """Change the store; returns when the change is on disk and in the live engine.

        Args:
            refresh: also wait until the embeddings of all entities are refreshed. A service
                with `strict` always waits.
        """

        def durable() -> R:
            result = change()
            self._take_in(self.live.catch_up)
            return result

        if not (refresh or self.settings.strict):
            return await self.store_threads(durable)
        if not self.refresh_waiters.enter():
            self.metrics.refused.labels("refresh").inc()
            detail = "Too many writes are waiting for a refresh."
            raise ProblemError(503, detail, retry_after=self.settings.retry_after)
        try:
            result = await self.store_threads(durable)
            await self.refresh_threads(self._take_in, self.live.refresh)
            return result
        finally:
            self.refresh_waiters.leave()

    def _take_in(self, take_in: Callable[[], object]) -> None:
        """Read changes from the store; bad data in there is not an error of the request."""
        try:
            take_in()
        except DataError as error:
            raise StoreError(error.what, where=error.where, right=error.right) from error

    def close(self) -> None:
        """Stop all threads."""
        for part in vars(self).values():
            if isinstance(part, WorkerThreads):
                part.close()


class Readiness:
    """Whether the store can be reached, checked at most once a second."""

    def __init__(self, service: Service) -> None:
        self._service, self._lock = service, asyncio.Lock()
        self._at, self._ready = float("-inf"), False

    async def check(self) -> None:
        """Refuse a request when the store cannot be reached."""
        async with self._lock:
            if time.monotonic() - self._at > _STORE_CHECK_SECONDS:
                self._ready = await self._ask()
                self._at = time.monotonic()
        if not self._ready:
            retry = self._service.settings.retry_after
            raise ProblemError(503, "The store cannot be reached.", retry_after=retry)

    async def _ask(self) -> bool:
        try:
            await self._service.health_threads(self._service.live.store.version)
        except (StoreError, ProblemError):
            return False
        return True
