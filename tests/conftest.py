"""What holds for all tests."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from tests.postgres import Server, running_server

# The first example of a test may wait for a kernel to be compiled.
settings.register_profile("evichain", deadline=None)
settings.load_profile("evichain")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, started by the first test that needs one."""
    with running_server() as server:
        yield server
