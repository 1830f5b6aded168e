"""Whether a new rating changes the next answer, and how long until all embeddings are updated."""

import asyncio
import time
from http import HTTPStatus

from evichain.ratings.ids import Id
from evichain.service.bench.client import Answer, Connection, encoded
from evichain.service.bench.request_mix import RequestMix, guest_request, list_path, put
from evichain.service.bench.server_process import ServerError

_TIMES = 5
_CLOSE = 1e-4
_OFTEN = 0.005
_STUCK = 300
"""Seconds without progress after which it fails; more than any step of an update took so far."""


async def ratings_are_visible(address: tuple[str, int], mix: RequestMix) -> bool:
    """Whether each rating of a new user changes the user's next list.

    After all updates, the list must also equal that of a guest with the same ratings.
    """
    connection = await Connection.open(*address)
    user, own, before = mix.new_user(), dict[Id, float](), dict[str, float]()
    try:
        for item, rating in mix.own(_TIMES):
            own[item] = rating
            if (await connection.ask(put(user, item, rating))).status != HTTPStatus.OK:
                return False
            next_one = _listed(await connection.ask(encoded("GET", list_path(user))))
            await until_refreshed(address)
            found = _listed(await connection.ask(encoded("GET", list_path(user))))
            expected = _listed(await connection.ask(guest_request(list(own.items()))))
            if next_one == before or not _alike(found, expected):
                return False
            before = found
    finally:
        connection.close()
    return True


async def until_refreshed(address: tuple[str, int]) -> float:
    """The seconds until all embeddings are updated."""
    connection, begun = await Connection.open(*address), time.perf_counter()
    reached, since = -1, begun
    try:
        while True:
            found = (await connection.ask(encoded("GET", "/v1/overview"))).json()
            now = time.perf_counter()
            if found["refreshed_version"] == found["version"]:
                return now - begun
            if found["refreshed_version"] > reached:
                reached, since = found["refreshed_version"], now
            elif now - since > _STUCK:
                raise ServerError(
                    f"the server has finished no update for {_STUCK} s", right="See its log."
                )
            await asyncio.sleep(_OFTEN)
    finally:
        connection.close()


def _listed(answer: Answer) -> dict[str, float]:
    if answer.status != HTTPStatus.OK:
        return {}
    return {one["item"]: one["estimate"] for one in answer.json()["recommendations"]}


def _alike(found: dict[str, float], expected: dict[str, float]) -> bool:
    """Whether two lists have the same estimates; items with equal estimates may differ."""
    pairs = zip(sorted(found.values()), sorted(expected.values()), strict=False)
    return len(found) == len(expected) > 0 and all(abs(a - b) < _CLOSE for a, b in pairs)
