"""Limits of rate, concurrency, body size and time."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import Message, Receive, Send

from evichain.service.http.problems import ProblemError

_CALLERS = 10_000
"""The number of callers kept; a caller that was dropped begins with a full bucket."""


class RateLimits:
    """A token bucket per caller: it fills with time, and each request takes one token.

    >>> now = [0.0]
    >>> limits = RateLimits(rate=1.0, burst=2.0, clock=lambda: now[0])
    >>> [limits.take("ann") for _ in range(3)], limits.take("bob")
    ([0.0, 0.0, 1.0], 0.0)
    >>> now[0] = 1.0
    >>> limits.take("ann")
    0.0
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """Take a token; returns 0, or the seconds to wait if there is none."""
        if not self._rate:
            return 0.0
        now = self._clock()
        tokens, since = self._buckets.pop(caller, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate
        self._buckets[caller] = (tokens if wait else tokens - 1, now)
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        return wait


class ConcurrencyLimit:
    """A limit on requests at a time, without a queue."""

    def __init__(self, positions: int) -> None:
        self.positions, self.inside = positions, 0

    def enter(self) -> bool:
        """Take a slot; returns whether one was free."""
        if self.inside >= self.positions:
            return False
        self.inside += 1
        return True

    def leave(self) -> None:
        """Release the slot."""
        self.inside -= 1


def limit_body(receive: Receive, limit: int, timeout: float) -> Receive:
    """Receive a body of at most `limit` bytes, all of it within `timeout` seconds."""
    left, deadline = limit, time.monotonic() + timeout
    ended = False

    async def limited() -> Message:
        nonlocal left, ended
        if ended:  # Only a disconnect can follow, without a time limit.
            return await receive()
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                message = await receive()
        except TimeoutError:
            raise ProblemError(
                408, f"The body took more than {timeout:g} seconds.", close=True
            ) from None
        left -= len(message.get("body", b""))
        if left < 0:
            raise too_large(limit)
        ended = not message.get("more_body", False)
        return message

    return limited


def too_large(limit: int) -> ProblemError:
    """The error of a body that is too large."""
    return ProblemError(413, f"A body may have at most {limit:,} bytes.", close=True)


class ClientGoneError(Exception):
    """The client does not read the answer."""


def send_with_timeout(send: Send, timeout: float) -> Send:
    """Send, waiting at most `timeout` seconds for the client to read."""

    async def limited(message: Message) -> None:
        try:
            async with asyncio.timeout(timeout):
                await send(message)
        except TimeoutError:
            raise ClientGoneError from None

    return limited
