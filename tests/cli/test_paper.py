from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import Result

from evichain.experiments import EXPERIMENTS

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


def test_all_of_the_paper_in_its_smallest_form(
    run_json: RunJson, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results"
    arguments = ("paper", "all", "--quick", "--data", data, "--out", out)
    found = run_json(*arguments)
    assert [one["experiment"] for one in found["experiments"]] == list(EXPERIMENTS)
    for name in EXPERIMENTS:
        assert all((out / f"{name}.{end}").stat().st_size for end in ("json", "md", "png"))
    assert found["measured"] > 0
    again = run_json(*arguments)
    assert again["measured"] == 0
    assert again["experiments"] == found["experiments"]


def test_a_page_is_printed_and_files_are_named(run: Run, data: Path, tmp_path: Path) -> None:
    arguments = ("paper", "complexity", "--quick", "--data", data, "--out", tmp_path)
    result = run(*arguments, "--seed", 1, "--seed", 2)
    assert result.exit_code == 0
    assert result.stdout.startswith("# What the complexity controls save\n")
    assert "--seed 1 --seed 2 --quick" in result.stdout
    assert "complexity 6/6: " in result.stderr
    assert "complexity.png" in result.stderr
    assert "(measured before)" not in result.stderr
    assert "(measured before)" in run(*arguments, "--seed", 2).stderr
    assert "(measured before)" not in run(*arguments, "--seed", 2, "--anew").stderr


def test_mistakes_are_said(refused: Refused, data: Path, tmp_path: Path) -> None:
    assert "no experiment 'figure'" in refused("paper", "figure", "--data", data)[0]
    (tmp_path / "file").write_text("")
    lines = refused("paper", "trace", "--quick", "--data", data, "--out", tmp_path / "file")
    assert "is not a folder" in lines[0]
    # The cut of cold-start cannot be: that is said before the first of all is measured.
    lines = refused("paper", "all", "--data", data, "--out", tmp_path / "out")
    assert "cold-start" in lines[0]
    assert "users to cut" in lines[0]
    assert not list((tmp_path / "out").rglob("*.json"))
    assert "given twice" in refused("paper", "trace", "--data", data, *("--seed", 1) * 2)[0]
    some = "--system", "plus"
    assert "cannot be chosen" in refused("paper", "all", "--quick", "--data", data, *some)[0]
    lines = refused("paper", "trace", "--quick", "--data", data, *some, "--out", tmp_path / "out")
    assert "no system 'plus' in trace" in lines[0]
    assert "nothing.csv" in refused("paper", "trace", "--data", "nothing.csv", "--out", tmp_path)[0]
