import os
import subprocess
import sys
from pathlib import Path

import pytest

from evichain.errors import DataError, MachineError
from evichain.resources import in_own_process, peak_bytes

MANY = 200_000_000


def test_memory_is_told_in_bytes() -> None:
    peak = peak_bytes()
    assert peak is not None
    assert 10**7 < peak < 10**12


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks /proc")
def test_a_process_is_not_charged_for_who_started_it() -> None:
    held = bytearray(os.urandom(1)) * MANY
    own = peak_bytes()
    assert own is not None
    assert own > MANY
    asked = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(asked, stdin=subprocess.PIPE) as other:
        theirs = peak_bytes(other.pid)
        assert other.stdin is not None
        other.stdin.close()
    assert theirs is not None
    assert theirs < MANY
    assert len(held) == MANY
    assert peak_bytes(other.pid) is None


def test_work_apart_is_done_by_another_process() -> None:
    assert in_own_process(os.getpid) != os.getpid()
    assert in_own_process(divmod, 17, 5) == (3, 2)
    with pytest.raises(DataError, match="no such user"):
        in_own_process(_refuse)


def _refuse() -> None:
    raise DataError("no such user")


def test_a_process_that_is_ended_at_its_work_is_told_of() -> None:
    with pytest.raises(MachineError, match="was killed, most likely because memory ran out"):
        in_own_process(os._exit, 9)
