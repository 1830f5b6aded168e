"""A small world of made-up films, and a real server for it that can be stopped and started."""

import socket
import time
from pathlib import Path
from threading import Thread

import numpy as np
import polars as pl
import uvicorn
from tests.service.live.test_store_follower import SMALL

from evichain import REC, Ratings
from evichain.ratings.side import Side
from evichain.service.http import ServiceSettings, create_app
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import open_store

KINDS = ("Comet", "Harbour", "Waltz")
"""Who likes one film of a kind likes the others of it."""
HOSTILE = "<img src=x onerror=\"window.harmed='yes'\"><b>Bold</b> (1999)"
FILMS, PEOPLE = 60, 150


def titles() -> dict[int, str]:
    """Film k is of kind k % 3; the one that everybody has rated bears a hostile title."""
    named = {k: f"{KINDS[k % 3]} {k:02d} ({1960 + k})" for k in range(FILMS)}
    return named | {0: HOSTILE, 3: "Comet of the North, The (1963)"}


def world() -> Ratings:
    """People of three tastes: 4 or 5 stars for their own kind of film, 1 to 3 for the others."""
    random = np.random.default_rng(0)
    # The first films are rated by most, so that it is known which are popular.
    rated = random.random((PEOPLE, FILMS)) < np.linspace(0.95, 0.25, FILMS)
    rated[:, 0] = True
    person, film = random.permutation(np.argwhere(rated)).T
    liked = person % 3 == film % 3
    stars = np.where(liked, random.integers(4, 6, len(film)), random.integers(1, 4, len(film)))
    ratings = Ratings.from_arrays(person, film, stars, name="made-up films")
    names = pl.DataFrame({"item_id": list(titles()), "title": list(titles().values())})
    return Ratings(ratings.frame, names, name=ratings.name)


class Site:
    """The page on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self._store = str(folder / "ratings.db")
        self._model = REC(**(SMALL | {"iterations": 80, "evidence_limit": 64})).fit(world())
        with open_store(self._store) as store:
            store.import_ratings(world())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/"

    def start(self, settings: ServiceSettings | None = None) -> None:
        self._opened = open_store(self._store)
        app = create_app(StoreFollower(self._model, self._opened), settings)
        self._server = uvicorn.Server(
            uvicorn.Config(app, port=self._port, log_config=None, timeout_graceful_shutdown=1)
        )
        self._thread = Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the server does not start"
            time.sleep(0.01)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._opened.close()

    def stored(self, user: str) -> dict[int, float]:
        """What the store holds of someone."""
        with open_store(self._store) as store:
            return {int(row.item): row.rating for row in store.ratings_of(Side.USER, user)}
