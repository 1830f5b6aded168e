from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import Result

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]


def test_a_step_is_measured(run: Run, run_json: RunJson, data: Path, small: list[str]) -> None:
    arguments = ("bench", "step", "--data", data, "--repeats", 2, *small)
    found = run_json(*arguments)
    assert found["seconds"] > 0
    assert found["gemm_ratio"] > 0
    assert found["reference_ratio"] > 0
    assert found["pairs"] > 0
    assert found["settings"]["evidence_limit"] == 8
    assert "reference_ratio" not in run_json(*arguments, "--no-reference")
    assert "gemm ratio" in run(*arguments, "--no-reference", "--split", "random:0.5").stdout
