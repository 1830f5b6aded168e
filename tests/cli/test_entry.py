from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from evichain import __version__
from evichain.cli import VERBS

Run = Callable[..., Result]
Refused = Callable[..., list[str]]

GROUPS = {
    "data": ("list", "fetch", "describe", "convert", "split", "generate"),
    "bench": ("step", "embed", "scale", "lists", "serve"),
    "spark": ("embed", "score", "recommend"),
}
LEAVES: list[tuple[str, ...]] = [(verb,) for verb in VERBS if verb not in GROUPS]
LEAVES += [(group, verb) for group, verbs in GROUPS.items() for verb in verbs]


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"evichain {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_verb_and_shows_examples(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 0
    assert all(f"  {verb} " in result.stdout for verb in VERBS)
    assert "Examples:\n    evichain data list\n" in result.stdout
    assert "..." not in result.stdout.partition("Commands:")[2]


@pytest.mark.parametrize("verb", LEAVES)
def test_every_verb_has_help_with_examples_and_json(run: Run, verb: tuple[str, ...]) -> None:
    result = run(*verb, "--help")
    assert result.exit_code == 0
    assert f"Examples:\n    evichain {' '.join(verb)}" in result.stdout
    assert ("--json-logs " if verb == ("serve",) else "--json ") in result.stdout


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_shows_its_help(run: Run, group: str) -> None:
    result = run(group)
    assert result.exit_code == 0
    assert f"Usage: evichain {group}" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trian"], "Did you mean 'train'"),
        (["--wrong"], "--wrong"),
        (["train"], "DATA"),
        (["train", "x.csv", "--max-depht", "3"], "--max-depth"),
        (["train", "x.csv", "--max-depth", "deep"], "--max-depth"),
        (["train", "x.csv", "--seed", "-1"], "--seed"),
        (["train", "x.csv", "--seed", str(2**63)], "--seed"),
        (["data", "generate", "--ratings", "9", "--out", "x", "--seed", str(2**63)], "--seed"),
        (["evaluate", "model", "x.csv", "--seed", str(2**63)], "--seed"),
        (["paper", "trace", "--seed", str(2**63)], "--seed"),
        (["data", "lst"], "Did you mean 'list'"),
        (["recommend", "model", "1", "-n", "0"], "-n"),
        (["bench", "step"], "--data"),
    ],
)
def test_misspelled_calls_are_said_in_two_lines(
    refused: Refused, arguments: list[str], said: str
) -> None:
    lines = refused(*arguments)
    assert said in lines[0]
    assert lines[1].startswith("See evichain")
    assert lines[1].endswith("--help.")


def test_no_verb_writes_anything_when_only_asked_for_help(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for verb in LEAVES:
        run(*verb, "--help")
    assert not list(tmp_path.iterdir())
