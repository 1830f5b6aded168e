import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evichain import kernels
from evichain.kernels import Longs, in_threads, kernel


@kernel
def _mark(start: int, stop: int, seen: Longs) -> None:
    for i in range(start, stop):
        seen[i] += 1


@pytest.fixture(params=[1, 2, 3])
def _threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "thread_count", lambda: request.param)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("count", [0, 1, 63, 64, 1000, 4097])
def test_shares_cover_the_range_once(count: int) -> None:
    seen = np.zeros(count, np.int64)
    in_threads(_mark, count, seen)
    assert (seen == 1).all()


@pytest.mark.usefixtures("_threads")
def test_an_error_in_a_share_reaches_the_caller() -> None:
    def fail(start: int, stop: int) -> None:
        if stop == 4096:
            raise ValueError("share")

    with pytest.raises(ValueError, match="share"):
        in_threads(fail, 4096)


def test_what_a_kernel_calls_is_part_of_what_is_kept_on_disk(tmp_path: Path) -> None:
    """Also where the caller's own file is the same as before."""
    caller = "from callee import twice\nfrom evichain.kernels import kernel\n\n\n"
    (tmp_path / "caller.py").write_text(f"{caller}@kernel\ndef ask(x):\n    return twice(x)\n")

    def answer(body: str) -> str:
        callee = f"from evichain.kernels import kernel\n\n\n@kernel\ndef twice(x):\n    {body}\n"
        (tmp_path / "callee.py").write_text(callee)
        ask = [sys.executable, "-c", "import caller; print(caller.ask(10))"]
        where = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
        kept = {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            ask, env={**os.environ, **where, **kept}, check=True, capture_output=True, text=True
        ).stdout.strip()

    assert answer("return 2 * x") == "20"
    assert answer("return x + x") == "20"
    assert answer("return 3 * x") == "30"
