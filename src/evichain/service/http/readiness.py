"""Whether requests that need the store can be answered."""

import asyncio
import time

from evichain.errors import StoreError
from evichain.service.http.problems import ProblemError
from evichain.service.http.service import Service

_FRESH = 1.0


class Readiness:
    """Whether the store can be reached, asked at most once a second."""

    def __init__(self, service: Service) -> None:
        self._service, self._lock = service, asyncio.Lock()
        self._at, self._ready = float("-inf"), False

    async def check(self) -> None:
        """Refuse a request when the store cannot be reached."""
        async with self._lock:
            if time.monotonic() - self._at > _FRESH:
                self._ready = await self._ask()
                self._at = time.monotonic()
        if not self._ready:
            retry = self._service.settings.retry_after
            raise ProblemError(503, "The store cannot be reached.", retry_after=retry)

    async def _ask(self) -> bool:
        try:
            await self._service.watch(self._service.live.store.version)
        except (StoreError, ProblemError):
            return False
        return True
