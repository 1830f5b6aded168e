"""Figures of several workers."""

import os
import subprocess
import sys
from pathlib import Path

from evichain.service.http.metrics import MULTIPROCESS_FOLDER, Metrics

_WORKER = """
import sys
from evichain.service.http.metrics import Metrics
metrics = Metrics()
metrics.counted(int(sys.argv[1]), 2, 3, float(sys.argv[2]) if sys.argv[2] else None)
metrics.written.inc(5)
sys.stdout.write(metrics.text().decode())
"""


def worker(folder: Path, *arguments: str) -> dict[str, float]:
    """What a worker tells that has these figures, and shares a folder with others."""
    ran = subprocess.run(
        [sys.executable, "-c", _WORKER, *arguments],
        env=os.environ | {MULTIPROCESS_FOLDER: str(folder)},
        capture_output=True,
        check=True,
        text=True,
    )
    return figures(ran.stdout)


def figures(text: str) -> dict[str, float]:
    lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def test_the_latest_word_of_any_worker_holds(tmp_path: Path) -> None:
    assert "evichain_recent_rmse" not in worker(tmp_path, "100", "")
    assert worker(tmp_path, "100", "0.9")["evichain_recent_rmse"] == 0.9
    found = worker(tmp_path, "90", "")
    assert found["evichain_ratings"] == 90
    assert found["evichain_recent_rmse"] == 0.9
    assert found["evichain_ratings_written_total"] == 15


def test_one_worker_without_an_error_says_so() -> None:
    metrics = Metrics()
    metrics.counted(1, 2, 3, None)
    found = figures(metrics.text().decode())
    assert found["evichain_ratings"] == 1
    assert found["evichain_recent_rmse"] != found["evichain_recent_rmse"]
    metrics.counted(1, 2, 3, 0.0)
    assert figures(metrics.text().decode())["evichain_recent_rmse"] == 0.0
