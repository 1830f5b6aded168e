"""Limits: how often one may ask, how many at a time, how much in a body, how slowly."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import Message, Receive, Send

from evichain.service.http.problems import ProblemError

_CALLERS = 10_000
"""Callers that are remembered; who was forgotten begins with a full bucket."""


class RateLimits:
    """A bucket of tokens for each caller: it fills with time, and a request takes one out.

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
        """Take a token out; how many seconds to wait when there is none."""
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
    """Lets in so many at a time; nobody queues before it."""

    def __init__(self, places: int) -> None:
        self.places, self.inside = places, 0

    def enter(self) -> bool:
        """Whether there was a place."""
        if self.inside >= self.places:
            return False
        self.inside += 1
        return True

    def leave(self) -> None:
        """Give the place back."""
        self.inside -= 1


def limit_body(receive: Receive, limit: int, timeout: float) -> Receive:
    """Receive a body of at most `limit` bytes, all of it within `timeout` seconds."""
    left, deadline = limit, time.monotonic() + timeout
    ended = False

    async def limited() -> Message:
        nonlocal left, ended
        if ended:  # Only a disconnect can follow, and it may take its time.
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
    """What to say of a body that is too large."""
    return ProblemError(413, f"A body has at most {limit:,} bytes here.", close=True)


class ClientGoneError(Exception):
    """The asker does not take the answer."""


def send_with_timeout(send: Send, timeout: float) -> Send:
    """Send, but wait no longer than so many seconds for the other side to take it."""

    async def limited(message: Message) -> None:
        try:
            async with asyncio.timeout(timeout):
                await send(message)
        except TimeoutError:
            raise ClientGoneError from None

    return limited
