"""Checks that a recommender does what a recommender must; they come with the package.

With pytest, a test for each check:

    import pytest
    from evichain.testing import CHECKS

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_conformance(check):
        check(lambda: MyRecommender(seed=0))

or all at once with `check_recommender(make)`. A check fails with what it expected; one that does
not apply (say, no `save`) is skipped.
"""

from evichain.testing.expectations import Check, CheckError, Make
from evichain.testing.kit import CHECKS, check_recommender
from evichain.testing.planted import planted_blocks, planted_rating
from evichain.testing.traces import check_trace

__all__ = [
    "CHECKS",
    "Check",
    "CheckError",
    "Make",
    "check_recommender",
    "check_trace",
    "planted_blocks",
    "planted_rating",
]
