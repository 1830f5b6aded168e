from itertools import islice

import pytest

from evichain.ratings.table import Ratings
from evichain.service.bench.request_mix import RequestKind, RequestMix, new_id
from evichain.testing import planted_blocks


def test_nine_lists_for_one_write() -> None:
    requests = list(islice(RequestMix(planted_blocks(), seed=1), 4000))
    counts = {kind: sum(one.kind is kind for one in requests) for kind in RequestKind}
    assert counts[RequestKind.WRITE] == pytest.approx(400, abs=80)
    assert counts[RequestKind.STORED] == pytest.approx(1800, abs=150)
    assert all((one.written is None) == (one.kind is not RequestKind.WRITE) for one in requests)
    users = {one.written.user for one in requests if one.written is not None}
    assert users & set(range(60))
    assert users - set(range(60))


def test_the_same_seed_draws_the_same() -> None:
    first, again, other = (
        list(islice(RequestMix(planted_blocks(), seed=seed), 50)) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_text_is_quoted_and_newcomers_are_of_their_kind() -> None:
    table = Ratings.from_arrays(["a/b", "c d"], ["x?", "y#"], [1, 5])
    lines = [one.sent.split(b"\r\n")[0] for one in islice(RequestMix(table), 200)]
    assert b"GET /v1/users/a%2Fb/recommendations HTTP/1.1" in lines
    assert all(line.count(b" ") == 2 and b"?" not in line for line in lines)
    assert isinstance(new_id(1, integers=True), int)
    assert isinstance(new_id(1, integers=False), str)
