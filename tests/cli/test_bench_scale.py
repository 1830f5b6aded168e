from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]
Run = Callable[..., Result]

TINY = ["--set", "key_size=4", "--set", "channel_size=4", "--set", "prototype_users=4"]
TINY += ["--set", "prototype_items=4", "--set", "evidence_limit=8", "--set", "width=8"]


def test_sets_are_made_measured_and_kept(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    arguments = ("bench", "scale", "--ratings", 2000, 8000, "--repeats", 2, "--cache", tmp_path)
    found = run_json(*arguments, *TINY)
    small, large = found["sizes"]
    assert (small["ratings"], large["ratings"]) == (2000, 8000)
    assert small["parameters"] == large["parameters"] == found["parameters"]
    assert found["step_ratio"] == large["step_seconds"] / small["step_seconds"]
    peaks = [one[f"{work}_peak_bytes"] for one in found["sizes"] for work in ("convert", "step")]
    assert found["peak_bytes"] >= max(peaks)
    assert large["evidence_limit"] == 8
    assert 0.6 < small["floor_rmse"] < small["mean_rmse"]
    again = run_json(*arguments[:3], 2000, "--repeats", 1, "--cache", tmp_path, *TINY)
    assert again["step_ratio"] == 1
    (kept,) = again["sizes"]
    assert kept["convert_seconds"] == small["convert_seconds"]
    assert small["kept"] == []
    assert kept["kept"] == ["generate", "convert"]
    said = run(*arguments[:3], 2000, "--repeats", 1, "--cache", tmp_path, *TINY)
    assert said.stdout.splitlines()[2].endswith("making, conversion")
    assert "2000-0: convert, reused from an earlier run" in said.stderr


@pytest.mark.parametrize("setting", ["iterations=5", "validation=0.1", "patience=1"])
def test_what_would_change_the_steps_is_no_option(
    run: Run, refused: Refused, tmp_path: Path, setting: str
) -> None:
    name, cache = setting.partition("=")[0], tmp_path / "cache"
    assert f"--{name}" not in run("bench", "scale", "--help").stdout
    arguments = ("bench", "scale", "--ratings", 1000, "--cache", cache)
    lines = refused(*arguments, "--set", setting)
    assert lines[0] == f"error: {name}: is set by the benchmark"
    assert not cache.exists()


def test_figures_are_kept_whole_or_not_at_all(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(self: Path, text: str) -> int:
        with self.open("w") as file:
            file.write(text[:10])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", cut_off)
    arguments = ("bench", "scale", "--ratings", 1000, "--repeats", 1, "--cache", tmp_path)
    assert run(*arguments).exit_code == 130
    assert not list(tmp_path.rglob("generate.json"))


def test_too_few_ratings_tell_nothing(refused: Refused) -> None:
    assert "too few" in refused("bench", "scale", "--ratings", 1)[0]
