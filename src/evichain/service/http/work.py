"""Work that takes long is done in threads, a few at a time and for so long."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from evichain.service.http.problems import ProblemError

P = ParamSpec("P")
R = TypeVar("R")


class Work:
    """Threads for work; a piece of it that is not begun in time never is.

    How many pieces wait is bounded by the requests in progress.
    """

    def __init__(self, threads: int, timeout: float, retry_after: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="evichain-work")
        self._timeout, self._retry_after = timeout, retry_after

    async def __call__(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """What a function gives."""
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
        """Have something done that nobody waits for."""
        self._threads.submit(function)

    def close(self) -> None:
        """Let go of the threads, when what they are at has ended."""
        self._threads.shutdown(wait=True, cancel_futures=True)
