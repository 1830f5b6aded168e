"""Load: several connections that send one request after another, and the time of each."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

import numpy as np

from evichain.service.bench.client import Connection
from evichain.service.bench.request_mix import LoadRequest, RequestKind, SentRating

WARM_UP = 2.0
"""Seconds of load before anything is measured: the first answers wait for compiled kernels."""
_AGAIN = 0.05
R = TypeVar("R")


@dataclass
class LoadResult:
    """The results of a load.

    Attributes:
        seconds: how long was measured.
        took: the seconds of each answer, by kind.
        asked: how many requests were sent, from the first moment on.
        errors: what was not answered with 200, by status; 0 for a connection that broke.
        written: ratings that were acknowledged, from the first moment on.
    """

    seconds: float = 0.0
    asked: int = 0
    took: dict[RequestKind, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[int] = field(default_factory=Counter)
    written: list[SentRating] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The answers that were measured."""
        return sum(map(len, self.took.values()))

    def percentiles(self, kind: RequestKind | None = None) -> dict[str, float]:
        """The median and the 99th percentile of one kind or of all, in milliseconds."""
        kinds = list(self.took) if kind is None else [kind]
        took = [seconds for one in kinds for seconds in self.took[one]]
        if not took:
            return {"p50_ms": float("nan"), "p99_ms": float("nan")}
        middle, late = np.percentile(took, [50, 99]) * 1000
        return {"p50_ms": float(middle), "p99_ms": float(late)}


async def drive(
    address: tuple[str, int],
    mix: Iterator[LoadRequest],
    *,
    seconds: float,
    connections: int,
    rate: float = 0.0,
    warm_up: float = WARM_UP,
) -> LoadResult:
    """Send requests for this many seconds, over this many connections.

    Args:
        rate: requests a second, sent when they are due, and late ones as soon as a connection is
            free: their time counts from when they were due. 0: each connection sends its next
            request when it has its answer.
    """
    found = LoadResult()
    begin = time.perf_counter() + warm_up
    end = begin + seconds
    due = begin - warm_up

    async def next_one() -> float:
        nonlocal due
        if not rate:
            return time.perf_counter()
        mine, due = due, due + 1 / rate
        await asyncio.sleep(max(0.0, mine - time.perf_counter()))
        return mine

    async def ask_on() -> None:
        connection = await Connection.open(*address)
        while (since := await next_one()) < end:
            request = next(mix)
            found.asked += 1
            try:
                status = (await connection.ask(request.sent)).status
            except ConnectionError:
                status = 0
                connection = await _again(address)
            if request.written is not None and status == HTTPStatus.OK:
                found.written.append(request.written)
            if since < begin:
                continue
            if status == HTTPStatus.OK:
                found.took[request.kind].append(time.perf_counter() - since)
            else:
                found.errors[status] += 1
        connection.close()

    await asyncio.gather(*(ask_on() for _ in range(connections)))
    found.seconds = time.perf_counter() - begin
    return found


async def _again(address: tuple[str, int]) -> Connection:
    while True:
        try:
            return await Connection.open(*address)
        except OSError:
            await asyncio.sleep(_AGAIN)


def run(work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine on the same kind of event loop as the server."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
