"""Kills the server while many write: what was acknowledged must be in the store afterwards."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from evichain.ratings.ids import Id
from evichain.ratings.table import Ratings
from evichain.service.bench.client import Connection, encoded
from evichain.service.bench.load import run
from evichain.service.bench.request_mix import new_id
from evichain.service.bench.server_process import Server, ServerError

_WRITERS = 8
_BATCH = 3
_LEAST = 20
_MORE = 100
"""Batches that are acknowledged before the server is killed: the least, and up to so many more."""
_FIRST = 10**6
"""Writers have numbers from here on."""


@dataclass
class BatchWriter:
    """A client that writes batches: the same ratings each time (`again`), or new ones.

    The timestamp of a rating is the number of its batch: all ratings of a batch exist or none.
    """

    name: Id
    again: bool
    sent: int = 0
    acknowledged: set[int] = field(default_factory=set)

    def batch(self, levels: list[float], integers: bool) -> dict[str, Any]:
        """The next batch, of items that no data set has."""
        self.sent += 1
        start = 0 if self.again else self.sent * _BATCH
        common = {
            "user": self.name,
            "rating": levels[self.sent % len(levels)],
            "timestamp": self.sent,
        }
        items = (new_id(start + k, integers) for k in range(_BATCH))
        return {"ratings": [{**common, "item": item} for item in items]}

    def judge(self, held: list[int]) -> tuple[int, int]:
        """How many acknowledged batches are lost, and how many are incomplete.

        Args:
            held: the timestamps of this writer's ratings in the store.
        """
        counts = Counter(held)
        half = sum(count != _BATCH for count in counts.values())
        if self.again:
            last = max(counts, default=0)
            return sum(number > last for number in self.acknowledged), half
        return len(self.acknowledged - counts.keys()), half


def kill_while_writing(
    server: Server,
    ratings: Ratings,
    kills: int,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Kill a server this many times during writes, and count what the store has lost.

    Args:
        server: one that does not run; it is stopped again at the end.
        ratings: whose items and levels are written.
    """
    draw, restarts = random.Random(seed), list[float]()
    acknowledged = lost = incomplete = 0
    levels = ratings.frame["rating"].unique().sort().to_list()
    user_ids, item_ids = (
        ratings.frame[f"{side}_id"].dtype.is_integer() for side in ("user", "item")
    )
    server.start()
    try:
        for number in range(kills):
            say(f"killed while it is written to, {number + 1} of {kills}")
            first = _FIRST + number * _WRITERS
            writers = [
                BatchWriter(new_id(first + k, user_ids), again=k % 2 == 0) for k in range(_WRITERS)
            ]
            enough = _LEAST + draw.randrange(_MORE)
            run(
                _write_until_killed(
                    server, writers, lambda writer: writer.batch(levels, item_ids), enough
                )
            )
            restarts.append(server.start())
            for writer, held in zip(writers, run(_held(server, writers)), strict=True):
                gone, half = writer.judge(held)
                acknowledged += len(writer.acknowledged) * _BATCH
                lost += gone * _BATCH
                incomplete += half
    finally:
        server.stop()
    return {
        "kills": len(restarts),
        "kills_acknowledged": acknowledged,
        "kills_lost": lost,
        "kills_incomplete": incomplete,
        "kills_restart_seconds": max(restarts, default=None),
    }


async def _write_until_killed(
    server: Server, writers: list[BatchWriter], batch: Callable[[BatchWriter], Any], enough: int
) -> None:
    """Write from all sides, until there is enough of it and the server is killed.

    Raises:
        ServerError: it ended before, by itself.
    """

    async def write(writer: BatchWriter) -> None:
        try:
            connection = await Connection.open(*server.address)
            while True:
                answer = await connection.ask(encoded("POST", "/v1/ratings", batch(writer)))
                if answer.status == HTTPStatus.OK:
                    writer.acknowledged.add(writer.sent)
        except OSError:
            return

    writing = [asyncio.create_task(write(writer)) for writer in writers]
    while sum(len(writer.acknowledged) for writer in writers) < enough:
        if all(task.done() for task in writing):
            right = "Look into its log: nobody has killed it."
            raise ServerError("the server ended while it was written to", right=right)
        await asyncio.sleep(0.001)
    server.kill()
    await asyncio.gather(*writing)


async def _held(server: Server, writers: list[BatchWriter]) -> list[list[int]]:
    """The timestamps of the ratings of each."""
    connection = await Connection.open(*server.address)
    found = []
    for writer in writers:
        path = f"/v1/users/{quote(str(writer.name), safe='')}/ratings"
        answer = await connection.ask(encoded("GET", path))
        rows = answer.json()["ratings"] if answer.status == HTTPStatus.OK else []
        found.append([row["timestamp"] for row in rows])
    connection.close()
    return found
