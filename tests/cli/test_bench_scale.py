from collections.abc import Callable
from pathlib import Path
from typing import Any

RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]

TINY = ["--set", "key_size=4", "--set", "channel_size=4", "--set", "prototype_users=4"]
TINY += ["--set", "prototype_items=4", "--set", "evidence_limit=8", "--set", "width=8"]


def test_sets_are_made_measured_and_kept(run_json: RunJson, tmp_path: Path) -> None:
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


def test_too_few_ratings_tell_nothing(refused: Refused) -> None:
    assert "too few" in refused("bench", "scale", "--ratings", 1)[0]
