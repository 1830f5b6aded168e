"""Ratings that take no time to learn from."""

import pytest

from evichain import Ratings
from evichain.testing import planted_blocks


@pytest.fixture(scope="session")
def ratings() -> Ratings:
    return planted_blocks(30, 20)
