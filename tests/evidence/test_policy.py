import pytest
from pydantic import ValidationError

from evichain.evidence.policy import Policy


def test_the_limit_halves_only_with_telescoping() -> None:
    assert [Policy().limit(d) for d in range(4)] == [80, 40, 20, 10]
    assert [Policy(telescoping=False).limit(d) for d in range(4)] == [80] * 4
    assert Policy(evidence_limit=3).limit(9) == 1


def test_blocking_is_refused_where_it_would_not_be_exact() -> None:
    with pytest.raises(ValidationError, match="exact up to max_depth 4"):
        Policy(max_depth=5)
    assert Policy(max_depth=5, cycle_blocking=False).max_depth == 5
