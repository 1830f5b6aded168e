"""Several processes that train one model, started by the command itself and by torchrun."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import call

from evichain.cli._processes import run_processes
from evichain.recommender import REC

Spawn = Callable[..., "subprocess.Popen[str]"]
Refused = Callable[..., list[str]]

TINY = {
    "embedding_size": 4,
    "key_size": 4,
    "channel_size": 4,
    "width": 8,
    "prototype_users": 4,
    "prototype_items": 4,
    "evidence_limit": 8,
    "batch_size": 61,
    "batch_share": 1.0,
    "validation": 0.2,
    "validate_every": 10,
}
OPTIONS = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]
# What the processes are here, in place of Python: the first waits for the others to meet.
MEMBERS = """#!/bin/sh
if [ "$RANK" = 0 ]; then
    for second in $(seq 100); do sleep 1; done
    echo nobody noticed >&2
    exit
fi
echo 60 ratings >&2
{failing}
"""
IMPATIENT = """
from evichain.cli import _processes, main
_processes._PATIENCE = 0.1
main()
"""
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.fixture(scope="module")
def graph(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs") / "small.graph"
    assert call("data", "convert", data, folder).exit_code == 0
    return folder


def figures(run: Path) -> list[dict[str, float]]:
    lines = (run / "log.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def alike(ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> bool:
    return [list(a) for a in ours] == [list(b) for b in theirs] and all(
        value == pytest.approx(b[name], abs=1e-4)
        for a, b in zip(ours, theirs, strict=True)
        for name, value in a.items()
    )


def finished(process: "subprocess.Popen[str]") -> dict[str, Any]:
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert out.count("\n") == 1
    document: dict[str, Any] = json.loads(out)
    return document


def test_two_processes_learn_what_one_does(spawn: Spawn, graph: Path, tmp_path: Path) -> None:
    arguments = ("train", graph, *OPTIONS, "--set", "iterations=50", "--json")
    alone = finished(spawn(*arguments, "--run", tmp_path / "one", "--out", tmp_path / "a"))
    options = ("--processes", "2", "--out", tmp_path / "b")
    both = finished(spawn(*arguments, "--run", tmp_path / "two", *options))
    ours, theirs = figures(tmp_path / "two"), figures(tmp_path / "one")
    assert len(ours) == 50
    assert alike(ours, theirs)
    assert both["validation_rmse"] == pytest.approx(alone["validation_rmse"], abs=1e-4)
    models = [REC.load(tmp_path / name) for name in ("a", "b")]
    estimates = [model.predict([1, 2, 3], [105, 106, 107]) for model in models]
    assert estimates[0].estimates == pytest.approx(estimates[1].estimates, abs=1e-2)
    assert estimates[0].stds == pytest.approx(estimates[1].stds, abs=1e-2)


def test_torchrun_is_another_way_to_start_them(spawn: Spawn, graph: Path, tmp_path: Path) -> None:
    arguments = ("train", graph, *OPTIONS, "--set", "iterations=12", "--json")
    finished(spawn(*arguments, "--run", tmp_path / "one"))
    # Without the dashes, torchrun would take --run for an option of its own (Python 3.11).
    program = (*TORCHRUN, "-m", "--", "evichain")
    finished(spawn(*arguments, "--run", tmp_path / "two", program=program))
    assert alike(figures(tmp_path / "two"), figures(tmp_path / "one"))


def children(process: "subprocess.Popen[str]") -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(pid) for pid in listed.split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
def test_a_killed_process_is_reported_and_the_run_goes_on_from_its_checkpoint(
    spawn: Spawn, graph: Path, tmp_path: Path
) -> None:
    run, whole = tmp_path / "run", tmp_path / "whole"
    fixed = ("train", graph, *OPTIONS, "--set", "checkpoint_every=5", "--set", "patience=0")
    endless = ("--set", "iterations=1000000")
    process = spawn(*fixed, *endless, "--run", run, "--processes", "2")
    while not (run / "checkpoint.safetensors").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    second = children(process)[1]
    os.kill(second, signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == 1, err
    assert err.splitlines()[-2:] == [
        "error: process 2 of 2 was ended by SIGKILL",
        f"With --resume it continues from the checkpoint in {run}.",
    ]
    assert "Traceback" not in err
    reached = len(figures(run))

    process = spawn(*fixed, *endless, "--run", run, "--processes", "2", "--resume")
    while len(figures(run)) < reached + 10:
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    ours = figures(run)
    process = spawn(*fixed, *endless, "--run", whole)
    while not (whole / "log.jsonl").exists() or len(figures(whole)) < len(ours):
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    process.kill()
    process.communicate()
    assert [entry["step"] for entry in ours] == list(range(1, len(ours) + 1))
    assert alike(ours, figures(whole)[: len(ours)])


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
def test_a_process_killed_before_they_meet_is_reported(spawn: Spawn, graph: Path) -> None:
    process = spawn("train", graph, *OPTIONS, "--processes", "2", program=("-c", IMPATIENT))
    while len(children(process)) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.kill(children(process)[1], signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "error: process 2 of 2 was ended by SIGKILL\n" in err


@pytest.mark.skipif(os.name != "posix", reason="the processes are shell scripts")
@pytest.mark.parametrize(
    ("failing", "status", "said"),
    [
        ("echo error: no such column >&2; echo Name it. >&2; exit 2", 2, "error: no such column"),
        ("echo interrupted >&2; exit 130", 130, "interrupted"),
        ("echo NameError: x >&2; exit 1", 1, "error: process 2 of 3 failed with status 1"),
    ],
)
def test_what_only_another_than_the_first_process_met_is_said_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    failing: str,
    status: int,
    said: str,
) -> None:
    program = tmp_path / "python"
    program.write_text(MEMBERS.format(failing=failing))
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    monkeypatch.setattr("evichain.cli._processes._PATIENCE", 0.5)
    with pytest.raises(SystemExit) as left:
        run_processes(3, [], None)
    assert left.value.code == status
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith(said)
    assert len(lines) <= 2


def test_a_mistake_is_said_once(spawn: Spawn, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("user_id,item_id,rating\n1,2,good\n")
    process = spawn("train", bad, "--processes", "2")
    out, err = process.communicate()
    assert process.returncode == 2
    assert out == ""
    assert len(err.splitlines()) == 2
    assert "rating 'good' is not a finite number" in err


def test_a_device_that_is_not_there(refused: Refused, graph: Path) -> None:
    lines = refused("train", graph, "--device", "abacus")
    assert "cannot compute on 'abacus'" in lines[0]


def test_half_an_environment_is_refused(
    refused: Refused, graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert refused("train", graph)[0] == "error: RANK: is not set, but WORLD_SIZE is"
    monkeypatch.setenv("RANK", "0")
    result = call("train", graph, *OPTIONS)
    assert result.exit_code == 2
    assert "error: MASTER_ADDR: is not set, but WORLD_SIZE is\n" in result.stderr


def test_what_lies_in_the_current_folder_is_not_imported(
    spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "polars.py").write_text("raise SystemExit('imported')")
    (tmp_path / "bad.csv").write_text("user_id,item_id,rating\n1,2,good\n")
    monkeypatch.chdir(tmp_path)
    process = spawn("train", "bad.csv", "--processes", "2", program=("-P", "-m", "evichain"))
    _, err = process.communicate()
    assert process.returncode == 2
    assert "rating 'good' is not a finite number" in err
