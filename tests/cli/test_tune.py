import shlex
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evichain.errors import with_extra
from evichain.ratings import load_ratings, load_split
from evichain.recommender import REC
from evichain.tuning import Range, tune

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]

SEARCH = ["--recipe", "paper", "--search", "learning-rate=0.001:0.1", "--trials", "2"]
ALSO = ["--set", "hidden_layers=1"]


def test_the_object_and_the_command_in_it(
    run_json: RunJson,
    run: Run,
    data: Path,
    tmp_path: Path,
    small: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = ("--split", "random:0.8", "--seed", 3, *SEARCH, *ALSO, *small)
    found = run_json("tune", data, *arguments)
    assert list(found) == ["data", "split", "recipe", "trials", "best", "command"]
    assert (found["data"], found["split"], found["recipe"]) == (str(data), "random:0.8", "paper")
    assert len(found["trials"]) == 2
    assert found["best"] in found["trials"]
    assert set(found["best"]["settings"]) == {"learning_rate"}

    monkeypatch.chdir(tmp_path)
    program, *rest = shlex.split(found["command"])
    assert program == "evichain"
    assert run(*rest).exit_code == 0
    settings = REC.load("model").settings.model_dump()
    assert settings["learning_rate"] == found["best"]["settings"]["learning_rate"]
    assert (settings["seed"], settings["hidden_layers"], settings["validation"]) == (3, 1, 0.0)


def test_the_command_reads_the_table_as_the_search_did(
    run_json: RunJson, run: Run, data: Path, tmp_path: Path, small: list[str]
) -> None:
    other = tmp_path / "other.csv"
    names = {"user_id": "customer_no", "item_id": "sku", "rating": "stars"}
    load_ratings(str(data)).frame.select(*names).rename(names).write_csv(other)
    with other.open("a") as table:
        table.write("1,2,good\n")
    options = ("--columns", "user=customer_no,item=sku,rating=stars", "--skip-bad-rows")
    found = run_json("tune", other, *options, *SEARCH, *ALSO, *small)
    assert " ".join(options) in found["command"]
    _, *words = shlex.split(found["command"])
    assert run(*words[:-1], tmp_path / "model").exit_code == 0


@pytest.mark.parametrize(
    ("given", "trained"),
    [
        (["--set", "validation=0.2"], (0.2, 8)),
        (["--set", "patience=2"], (0.05, 2)),
        (["--set", "validation=0.2", "--set", "patience=2"], (0.2, 2)),
    ],
)
def test_validation_and_patience_can_be_set(
    run_json: RunJson, data: Path, small: list[str], given: list[str], trained: tuple[float, int]
) -> None:
    found = run_json("tune", data, "--trials", 1, *small, *given)
    words = shlex.split(found["command"])
    changes = dict(word.split("=") for before, word in pairwise(words) if before == "--set")
    settings = REC("plus", **changes).settings
    assert (settings.training.validation, settings.training.patience) == trained


def test_only_the_training_part_is_used(run_json: RunJson, data: Path, small: list[str]) -> None:
    found = run_json("tune", data, "--split", "kfold:5/1", *SEARCH, *ALSO, *small)
    fixed = dict(setting.split("=") for setting in [*small, *ALSO] if "=" in setting)
    again = tune(
        load_split(str(data), "kfold:5/1").train,
        recipe="paper",
        trials=2,
        space={"learning_rate": Range(0.001, 0.1)},
        fixed=fixed,
    )
    assert [t["validation_rmse"] for t in found["trials"]] == [t.rmse for t in again.trials]


def test_the_table(run: Run, data: Path, small: list[str]) -> None:
    result = run("tune", data, *SEARCH, "--search", "telescoping=true,false", *ALSO, *small)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"Best of 2 trials (0 pruned): recipe paper, {data}"
    assert lines[1].split() == ["rank", "validation", "RMSE", "parameters", "settings", "changed"]
    assert [line.split()[0] for line in lines[2:4]] == ["1", "2"]
    assert any("none" in line or "learning_rate=" in line for line in lines[2:4])
    assert lines[-2] == "To train with the best:"
    assert lines[-1].startswith(f"  evichain train {data} --recipe paper --seed 0 --set ")
    assert "Tuning: done, 2 trials" in result.stderr
    assert "best" in result.stderr


def test_a_study_file_is_added_to(
    run_json: RunJson, refused: Refused, data: Path, tmp_path: Path, small: list[str]
) -> None:
    study = tmp_path / "study.jsonl"
    arguments = ("tune", data, "--study", study, *SEARCH, *ALSO, *small)
    first = run_json(*arguments)
    again = run_json(*arguments)
    assert (len(first["trials"]), len(again["trials"])) == (2, 4)
    assert again["trials"][:2] == first["trials"]
    result = run_json(*arguments, "--most-parameters", 100_000)
    assert len(result["trials"]) == 6


def test_another_question_to_a_study_is_refused(
    run: Run, data: Path, tmp_path: Path, small: list[str]
) -> None:
    study = tmp_path / "study.jsonl"
    arguments = ("tune", data, "--study", study, *SEARCH, *ALSO, *small)
    assert run(*arguments).exit_code == 0
    result = run(*arguments, "--seed", 1)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-2] == f"error: {study}: is a study of other settings"


def test_interrupting_shows_what_there_is(
    run: Run, data: Path, tmp_path: Path, small: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, calls = REC.fit, []

    def interrupted(self: REC, *arguments: Any, **options: Any) -> REC:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fit(self, *arguments, **options)

    monkeypatch.setattr(REC, "fit", interrupted)
    study = tmp_path / "study.jsonl"
    result = run("tune", data, "--study", study, *SEARCH, *ALSO, *small)
    assert result.exit_code == 130
    assert "Best of 1 trials" in result.stdout
    last = result.stderr.splitlines()[-1]
    assert last == f"interrupted; with --study {study} again it goes on"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--search", "width"], "--search: 'width' is not a range"),
        (["--search", "width=8"], "--search: 'width=8' is not a range"),
        (["--search", "width=8:16", "--search", "width=8,9"], "--search: width is given twice"),
        (["--search", "widht=8:16"], "no setting 'widht'"),
        (["--search", "width=many:16"], "width: Input should be a valid integer"),
        (["--search", "width=0:16"], "width: Input should be greater than or equal to 1"),
        (["--search", "width=16:8"], "width: 16 to 8 is not a range"),
        (["--search", "width=8:16", "--width", "8"], "width: is both set and searched"),
        (["--search", "generator=mean:channels"], "generator: has no range"),
        (["--search", "generator=mean,mode"], "generator: Input should be"),
        (["--recipe", "soup"], "soup"),
        (["--trials", "0"], "--trials"),
    ],
)
def test_wrong_options_are_refused(
    refused: Refused, data: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    study = tmp_path / "study.jsonl"
    assert said in refused("tune", data, "--study", study, *options)[0]
    assert not study.exists()


def test_without_optuna(refused: Refused, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert refused("tune", data) == [
        "error: tuning needs Optuna, which is not installed",
        with_extra("tune"),
    ]
