import json
import math
from pathlib import Path

import numpy as np
import pytest

from evichain.cli._output import print_facts, print_json, print_table


def test_json_has_no_nan_and_knows_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    document = {
        "nan": math.nan,
        "inf": [math.inf, -math.inf],
        "numbers": np.array([1.5, np.nan]),
        "scalar": np.int32(3),
        "path": Path("a"),
        "no": None,
        "yes": True,
        "text": "Amélie",
        "empty": (),
    }
    print_json(document)
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == {
        "nan": None,
        "inf": [None, None],
        "numbers": [1.5, None],
        "scalar": 3,
        "path": "a",
        "no": None,
        "yes": True,
        "text": "Amélie",
        "empty": [],
    }


def test_a_table_in_a_pipe_is_plain_and_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("Items", ("name", "count"), [("[bold]a", 7), ("b", 1000)])
    lines = ["Items", "  name     count", "  [bold]a      7", "  b        1,000"]
    assert capsys.readouterr().out.splitlines() == lines


def test_facts_that_are_unknown_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts("It", {"name": "a", "age": None, "share": 0.25})
    assert capsys.readouterr().out.splitlines() == ["It", "  name   a", "  share  0.25"]


def test_a_table_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    print_table("Items", ("name", "count"), [("[bold]a", 7)])
    printed = capsys.readouterr().out
    assert "[bold]a" in printed
    assert "──" in printed


def test_an_empty_table_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("Items", ("name", "count"), [])
    assert capsys.readouterr().out.splitlines() == ["Items", "  name  count"]
