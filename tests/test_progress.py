"""Progress where there is no terminal, on one, and switched off."""

import os
import pty
import subprocess
import sys

import pytest

from evichain.progress import progress


def test_plain_lines_at_start_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Training", total=4, unit="steps") as advance:
        for rmse in (1.5, 1.25, 1.125, 1.0):
            advance(rmse=rmse)
    shown = capsys.readouterr()
    assert shown.out == ""
    first, *_, last = shown.err.splitlines()
    assert first == "Training: 0/4 steps"
    assert last.startswith("Training: done, 4 steps in ")
    assert last.endswith("rmse 1")


def test_quick_work_does_not_flood(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Reading", total=10_000) as advance:
        for _ in range(10_000):
            advance()
    assert len(capsys.readouterr().err.splitlines()) < 12


def test_slow_work_is_heard_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr("evichain.progress.time.monotonic", lambda: float(next(clock)))
    with progress("Thinking", total=None, unit="thoughts") as advance:
        for _ in range(4):
            advance(2)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "Thinking: started",
        "Thinking: 4 thoughts",
        "Thinking: 8 thoughts",
        "Thinking: done, 8 thoughts in 30.0 s",
    ]


def test_an_error_says_how_far_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(after: int) -> None:
        with progress("Fetching", total=3_000_000, unit="B") as advance:
            advance(after)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail(after=1_500_000)
    assert "Fetching: stopped after 1.5 MB" in capsys.readouterr().err


def test_silent_when_disabled(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Training", total=4, enabled=False) as advance:
        advance(3)
    assert advance.done == 3
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal() -> None:
    code = (
        "from evichain.progress import progress\n"
        "with progress('Training', total=2, unit='steps') as advance:\n"
        "    advance(); advance(rmse=0.5)\n"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, env=environment)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "━" in shown
    assert "2/2 steps" in shown
    assert "rmse 0.5" in shown
