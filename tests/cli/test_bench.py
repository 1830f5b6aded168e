from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import call
from typer.testing import Result

from evichain.service.store import open_store

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


@pytest.mark.parametrize("recipe", ["plus", "paper"])
def test_the_step_is_that_of_training(
    run_json: RunJson, data: Path, small: list[str], recipe: str
) -> None:
    options = ("--split", "random:0.8", "--recipe", recipe, *small, "--set", "key_size=4")
    trained = run_json("train", data, *options)
    arguments = ("--repeats", 1, "--no-reference", *options)
    measured = run_json("bench", "step", "--data", data, *arguments)
    assert measured["settings"] == trained["settings"]
    assert measured["ratings"] == trained["train_ratings"]
    assert measured["parameters"] == trained["parameters"]


def test_bulk_generation_is_measured(
    run: Run, run_json: RunJson, data: Path, small: list[str]
) -> None:
    arguments = ("bench", "embed", "--data", data, "--repeats", 2)
    for found in (run_json(*arguments), run_json(*arguments, "--recipe", "paper", *small)):
        assert found["gemm_ratio"] > 0
        assert found["ratings_per_second"] == pytest.approx(found["ratings"] / found["seconds"])
        assert found["embeddings"] > 0
    assert "gemm ratio" in run(*arguments).stdout


def test_the_service_is_measured(run_json: RunJson, data: Path) -> None:
    options = ("--seconds", 1, "--connections", 2, "--iterations", 1, "--kills", 1)
    found = run_json("bench", "serve", "--data", data / "ratings.csv", *options)
    assert found["requests_per_second"] > 0
    assert 0 < found["p50_ms"] <= found["p99_ms"]
    assert found["errors"] == 0, found["errors_by_status"]
    assert found["visible"] is True
    assert found["foldin_ratio"] > 0
    assert (found["users"], found["items"]) == (30, 20)
    assert found["acknowledged"] >= found["kinds"]["write"]["requests"]
    assert found["lost"] == found["kills_lost"] == found["kills_incomplete"] == 0
    assert found["kills"] == 1
    assert sum(kind["requests"] for kind in found["kinds"].values()) == found["requests"]


def test_a_store_that_holds_something_is_not_overwritten(data: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store:
        store.put([("ann", "film", 4.0)])
    options = ("--store", tmp_path / "a.db", "--iterations", 0)
    result = call("bench", "serve", "--data", data / "ratings.csv", *options)
    assert result.exit_code == 2
    assert "is not empty" in result.stderr
    with open_store(tmp_path / "a.db") as store:
        assert store.counts().ratings == 1
