"""A tiny model, trained once."""

import pytest
from tests.service.live.test_store_follower import SMALL

from evichain import REC
from evichain.testing import planted_blocks


@pytest.fixture(scope="session")
def model() -> REC:
    return REC(**SMALL).fit(planted_blocks())
