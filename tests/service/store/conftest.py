"""Every test that takes a `url` or a `store` runs once for each backend."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evichain.service.store import Store, open_store


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that is not there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ratings.db'}"
    fresh: str = request.getfixturevalue("postgres").fresh()
    return fresh


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A new store."""
    with open_store(url) as opened:
        yield opened
