from collections.abc import Callable
from pathlib import Path

import pytest

Refused = Callable[..., list[str]]


@pytest.mark.parametrize(
    "verb",
    [
        ["train", "DATA"],
        ["tune", "DATA"],
        ["baseline", "prank", "DATA"],
        ["bench", "step", "--data", "DATA"],
        ["bench", "embed", "--data", "DATA"],
        ["bench", "scale", "--ratings", "1000"],
    ],
    ids=" ".join,
)
def test_the_seed_is_set_in_one_way(refused: Refused, data: Path, verb: list[str]) -> None:
    arguments = [data if part == "DATA" else part for part in verb]
    lines = refused(*arguments, "--set", "seed=5")
    assert lines == ["error: --set: the seed has an option of its own", "Use --seed."]
