"""Realistic requests, drawn from a ratings table."""

import random
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import quote

from evichain.ratings.ids import Id
from evichain.ratings.table import Ratings
from evichain.service.bench.client import encoded

WRITES = 0.1
"""The share of writes; the rest are lists, half for users of the store, half for anyone."""
RATED = 20
"""How many ratings a guest brings."""
_NEW_USERS = 0.2
"""The share of writes that are by someone new."""
_DRAWN = 200_000
_BEYOND = 10**12
"""What is new has ids from here on, where ids are integers."""


class RequestKind(StrEnum):
    """What is asked."""

    STORED = "recommend_stored"
    GUEST = "recommend_guest"
    WRITE = "write"


class SentRating(NamedTuple):
    """A rating that was sent."""

    user: Id
    item: Id
    rating: float


class LoadRequest(NamedTuple):
    """A request, ready to be sent; `written` is the rating in it."""

    kind: RequestKind
    sent: bytes
    written: SentRating | None = None


class RequestMix(Iterator[LoadRequest]):
    """Any number of requests, the same ones for the same seed.

    Users and items are drawn with the ratings they have: who rated much asks much.
    """

    def __init__(self, ratings: Ratings, seed: int = 0) -> None:
        frame = ratings.frame.select("user_id", "item_id", "rating")
        if len(frame) > _DRAWN:
            frame = frame.sample(_DRAWN, seed=seed)
        self._users, self._items = frame["user_id"].to_list(), frame["item_id"].to_list()
        self._levels: list[float] = frame["rating"].unique().sort().to_list()
        self._random = random.Random(seed)
        self._integers = frame["user_id"].dtype.is_integer()
        self._new_users = 0

    def __next__(self) -> LoadRequest:
        drawn = self._random.random()
        if drawn < WRITES:
            return self._write()
        return self._stored() if drawn < (1 + WRITES) / 2 else self._guest()

    def own(self, count: int = RATED) -> list[tuple[Id, float]]:
        """The ratings that someone new brings."""
        items = {self._random.choice(self._items) for _ in range(count)}
        return [(item, self._random.choice(self._levels)) for item in items]

    def new_user(self) -> Id:
        """The id of someone new."""
        self._new_users += 1
        return new_id(self._new_users, self._integers)

    def _stored(self) -> LoadRequest:
        user = self._random.choice(self._users)
        return LoadRequest(RequestKind.STORED, encoded("GET", list_path(user)))

    def _guest(self) -> LoadRequest:
        return LoadRequest(RequestKind.GUEST, guest_request(self.own()))

    def _write(self) -> LoadRequest:
        new = self._random.random() < _NEW_USERS
        user = self.new_user() if new else self._random.choice(self._users)
        ((item, rating),) = self.own(1)
        return LoadRequest(
            RequestKind.WRITE, put(user, item, rating), SentRating(user, item, rating)
        )


def guest_request(own: list[tuple[Id, float]]) -> bytes:
    """Ask for a list by ratings that are brought along."""
    ratings = [{"item": item, "rating": rating} for item, rating in own]
    return encoded("POST", "/v1/recommendations", {"ratings": ratings})


def put(user: Id, item: Id, rating: float) -> bytes:
    """Put a rating."""
    path = f"/v1/users/{_part(user)}/ratings/{_part(item)}"
    return encoded("PUT", path, {"rating": rating})


def new_id(number: int, integers: bool) -> Id:
    """An id that no data set has, of the same type as the other ids."""
    return _BEYOND + number if integers else f"new {number}"


def list_path(user: Id) -> str:
    """Where the list of a user is."""
    return f"/v1/users/{_part(user)}/recommendations"


def _part(identifier: Id) -> str:
    return quote(str(identifier), safe="")
