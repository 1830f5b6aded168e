import numpy as np
import pytest

from evichain import kernels
from evichain.kernels import Longs, in_threads, kernel


@kernel
def _mark(start: int, stop: int, seen: Longs) -> None:
    for i in range(start, stop):
        seen[i] += 1


@pytest.fixture(params=[1, 2, 3], autouse=True)
def _threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "thread_count", lambda: request.param)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 1000, 4097])
def test_shares_cover_the_range_once(count: int) -> None:
    seen = np.zeros(count, np.int64)
    in_threads(_mark, count, seen)
    assert (seen == 1).all()


def test_an_error_in_a_share_reaches_the_caller() -> None:
    def fail(start: int, stop: int) -> None:
        if stop == 4096:
            raise ValueError("share")

    with pytest.raises(ValueError, match="share"):
        in_threads(fail, 4096)
