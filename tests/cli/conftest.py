"""A small ratings folder with titles, a model trained on it, and ways to call the command."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import evichain
from evichain.cli import app

SMALL = ["iterations=3", "batch_size=60", "width=8", "embedding_size=4"]
SMALL += ["prototype_users=4", "prototype_items=4", "evidence_limit=8", "max_depth=3"]
SMALL_OPTIONS = [argument for setting in SMALL for argument in ("--set", setting)]

Run = Callable[..., Result]
Process = subprocess.Popen[str]
Spawn = Callable[..., Process]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVICHAIN_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("COLUMNS", "100")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def run() -> Run:
    """Call the command in this process."""
    return call


@pytest.fixture
def run_json() -> Callable[..., dict[str, Any]]:
    """Call it with --json; stdout has to be that one object and nothing else."""

    def called(*arguments: object) -> dict[str, Any]:
        result = call(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        document = json.loads(result.stdout, parse_constant=_no_such_number)
        assert isinstance(document, dict)
        return document

    return called


def _no_such_number(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


def as_text(error: dict[str, str]) -> list[str]:
    """The lines that an error under --json would have as text."""
    assert list(error) == ["message", "where", "right"]
    where = f"{error['where']}: " if error["where"] else ""
    lines = [f"error: {where}{error['message']}", error["right"]]
    return [" ".join(line.split()) for line in lines if line]


@pytest.fixture
def refused() -> Callable[..., list[str]]:
    """Call it with a mistake; the lines it says of it."""

    def called(*arguments: object) -> list[str]:
        result = call(*arguments)
        assert result.exit_code == 2, (result.exit_code, result.output, result.exception)
        assert result.stdout == ""
        lines = result.stderr.splitlines()
        if "--json" in arguments:
            assert len(lines) == 1, lines
            lines = as_text(json.loads(lines[0])["error"])
        assert 1 <= len(lines) <= 2, lines
        assert lines[0].startswith("error: ")
        return lines

    return called


@pytest.fixture
def spawn() -> Spawn:
    """Call the command as users do, in a process of its own."""

    def called(*arguments: object, program: tuple[str, ...] = ("-m", "evichain")) -> Process:
        return subprocess.Popen(
            [sys.executable, *program, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(evichain.__file__).parents[1])},
        )

    return called


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ratings.csv (userId, movieId, rating, timestamp) and movies.csv."""
    folder = tmp_path_factory.mktemp("data")
    draw = random.Random(0)
    rows = [
        f"{user},{100 + item},{draw.choice((1, 2, 3, 4, 5))},{1000 + user * 50 + item}"
        for user in range(30)
        for item in range(20)
        if draw.random() < 0.6
    ]
    (folder / "ratings.csv").write_text("\n".join(["userId,movieId,rating,timestamp", *rows]))
    films = [f"{100 + item},Film {item} ({1990 + item})" for item in range(20)]
    (folder / "movies.csv").write_text("\n".join(["movieId,title", *films]))
    return folder


@pytest.fixture(scope="session")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained on the training part of `random:0.8`."""
    folder = tmp_path_factory.mktemp("models") / "model"
    result = call("train", data, "--split", "random:0.8", "--out", folder, *SMALL_OPTIONS)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def small() -> list[str]:
    """The options of a model so small that it trains in a moment."""
    return SMALL_OPTIONS
