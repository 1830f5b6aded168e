"""A tiny model on a store of its own, behind an application."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from tests.service.live.test_store_follower import SMALL

from evichain import REC
from evichain.service.http import ServiceSettings, create_app
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import Store, open_store
from evichain.testing import planted_blocks

HERE = "http://localhost"
PATIENT = ServiceSettings(timeout=600, refresh_timeout=600)
"""Tests may have to wait for a kernel to be compiled, or for others on the machine."""


@pytest.fixture(scope="session")
def model() -> REC:
    return REC(**SMALL).fit(planted_blocks())


@pytest.fixture
def store(tmp_path: Path, model: REC) -> Iterator[Store]:
    with open_store(str(tmp_path / "ratings.db")) as opened:
        opened.import_ratings(model.graph.to_ratings())
        opened.put_titles({0: "Alien (1979)", 1: "Amélie (2001)"})
        yield opened


@pytest.fixture
def live(model: REC, store: Store) -> StoreFollower:
    return StoreFollower(model, store)


@pytest.fixture
def app(live: StoreFollower) -> FastAPI:
    return create_app(live, PATIENT)


class Caller:
    """Asks an application; each question is a coroutine run to its end."""

    def __init__(self, app: FastAPI, headers: dict[str, str] | None = None) -> None:
        self._app, self._headers = app, headers

    @asynccontextmanager
    async def session(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(
            transport=transport, base_url=HERE, headers=self._headers
        ) as client:
            yield client

    def __call__(self, method: str, path: str, **options: object) -> httpx.Response:
        async def asked() -> httpx.Response:
            async with self.session() as client:
                return await client.request(method, path, **options)  # type: ignore[arg-type]

        return asyncio.run(asked())


@pytest.fixture
def ask(app: FastAPI) -> Caller:
    return Caller(app)
