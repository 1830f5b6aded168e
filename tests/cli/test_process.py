"""The command as a process: status, streams and what it imports."""

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Spawn = Callable[..., "subprocess.Popen[str]"]

# A process started in the background ignores the signal unless told otherwise.
HEEDING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from evichain.cli import main
main()
"""
HEAVY = {"torch", "numba", "polars", "numpy", "rich"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["data", "--help"]])
def test_what_answers_at_once_imports_nothing_heavy(spawn: Spawn, arguments: list[str]) -> None:
    assert not HEAVY & imported(spawn, *arguments)


def test_a_list_of_data_sets_needs_no_engine(spawn: Spawn) -> None:
    assert not {"torch", "numba"} & imported(spawn, "data", "list")


def test_help_on_training_needs_no_engine(spawn: Spawn) -> None:
    assert not {"torch", "numba", "polars"} & imported(spawn, "train", "--help")


def imported(spawn: Spawn, *arguments: str) -> set[str]:
    process = spawn(*arguments, program=("-X", "importtime", "-m", "evichain"))
    _, times = process.communicate()
    assert process.returncode == 0
    return {line.rpartition("|")[2].strip() for line in times.splitlines()}


def test_a_mistake_is_two_lines_and_status_2(spawn: Spawn, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("user_id,item_id,rating\n1,2,good\n")
    process = spawn("train", bad, "--out", tmp_path / "model")
    out, err = process.communicate()
    assert process.returncode == 2
    assert out == ""
    assert err.splitlines() == [
        f"error: {bad}, row 2: rating 'good' is not a finite number",
        "A rating is a finite number, such as 4 or 3.5.",
    ]
    assert list(tmp_path.iterdir()) == [bad]


def test_json_is_all_there_is_on_stdout(
    spawn: Spawn, data: Path, tmp_path: Path, small: list[str]
) -> None:
    process = spawn("train", data, "--split", "random:0.8", *small, "--json")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert out.count("\n") == 1
    assert json.loads(out)["test"]["ratings"] > 0
    assert "Training" in err


@pytest.mark.parametrize("arguments", [["data", "list"], ["--help"], ["train", "--help"]])
def test_a_closed_pipe_is_no_error(spawn: Spawn, arguments: list[str]) -> None:
    process = spawn(*arguments)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert err == ""


def test_ctrl_c_ends_with_one_line(spawn: Spawn, data: Path, small: list[str]) -> None:
    process = spawn("train", data, *small, "--set", "iterations=1000000", program=("-c", HEEDING))
    assert process.stderr is not None
    said = ""
    while "Training:" not in said:
        said = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err
    assert out == ""
