"""What the routes share: the live model, threads, figures; one of each for an application."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from evichain.errors import DataError, StoreError
from evichain.ratings.ids import Id
from evichain.ratings.side import Side
from evichain.service.http.catalogue_counts import CachedCounts
from evichain.service.http.limits import ConcurrencyLimit
from evichain.service.http.metrics import Metrics
from evichain.service.http.problems import ProblemError
from evichain.service.http.settings import ServiceSettings
from evichain.service.http.work import Work
from evichain.service.live.backend import LiveBackend
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store.checks import checked_id

R = TypeVar("R")


@dataclass(frozen=True)
class Service:
    """What an application is made of.

    Attributes:
        storing: for whatever needs the store: writes and listings.
        thinking: for what comes from memory and takes long. It has threads of its own, as those
            that wait for a store may be away for long.
        waiting: for writes that wait for settling. They may take long: half of all places are
            kept for those who ask.
    """

    live: StoreFollower
    settings: ServiceSettings
    metrics: Metrics
    storing: Work
    thinking: Work
    refreshing: Work
    exports: Work
    watch: Work
    waiting: ConcurrencyLimit
    counts: CachedCounts
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, live: StoreFollower, settings: ServiceSettings) -> "Service":
        def work(threads: int, timeout: float = settings.timeout) -> Work:
            return Work(threads, timeout, settings.retry_after)

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
            # One thread: what it settles, it settles for all who wait.
            work(1, settings.refresh_timeout),
            work(settings.exports),
            work(1),
            ConcurrencyLimit(max(1, settings.in_progress // 2)),
            CachedCounts(live),
        )

    @property
    def backend(self) -> LiveBackend:
        """What is known now; take one for each request."""
        return self.live.backend

    def native(self, side: Side, text: str) -> Id:
        """The id that a part of a path or a body means, as the store is to know it."""
        return checked_id(self.live.native(side, text), side)

    async def write(self, change: Callable[[], R], *, refresh: bool = False) -> R:
        """Change the store; done when it is on disk and known here.

        Args:
            refresh: and when everyone's embedding is as it makes it; where the service is strict,
                so is every write.
        """

        def durable() -> R:
            result = change()
            self._take_in(self.live.catch_up)
            return result

        if not (refresh or self.settings.strict):
            return await self.storing(durable)
        if not self.waiting.enter():
            self.metrics.refused.labels("refresh").inc()
            detail = "Too many writes are waiting for all that follows from them."
            raise ProblemError(503, detail, retry_after=self.settings.retry_after)
        try:
            result = await self.storing(durable)
            await self.refreshing(self._take_in, self.live.refresh)
            return result
        finally:
            self.waiting.leave()

    def _take_in(self, take_in: Callable[[], object]) -> None:
        """Have what is in the store known here; what is wrong with it is not the asker's fault."""
        try:
            take_in()
        except DataError as error:
            raise StoreError(error.what, where=error.where, right=error.right) from error

    def close(self) -> None:
        """Let go of all threads."""
        for work in (self.storing, self.thinking, self.refreshing, self.exports, self.watch):
            work.close()
