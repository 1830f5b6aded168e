"""Every baseline does what a recommender must."""

import pytest
from tests.baselines.small import small

from evichain.baselines import BASELINES
from evichain.testing import CHECKS, Check


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conforms(check: Check, name: str) -> None:
    check(small(name))
