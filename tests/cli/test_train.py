import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.full import full_disk
from typer.testing import Result

from evichain.ratings import load_ratings, load_split
from evichain.recommender import REC

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


def test_the_object_at_the_end(
    run_json: RunJson, data: Path, tmp_path: Path, small: list[str]
) -> None:
    out = tmp_path / "model"
    arguments = ("--split", "random:0.8", "--seed", 3, "--out", out)
    found = run_json("train", data, *arguments, *small)
    split = load_split(str(data), "random:0.8", 3)
    loaded = REC.load(out)
    expected = loaded.evaluate(split.test)
    assert found["test"]["rmse"] == pytest.approx(expected.rmse, abs=1e-6)
    assert found["test"]["mae"] == pytest.approx(expected.mae, abs=1e-6)
    assert found["test"]["impossible"] == expected.impossible
    assert (found["train_ratings"], found["test"]["ratings"]) == (len(split.train), len(split.test))
    assert found["parameters"] == loaded.parameter_count
    assert found["seconds"] > 0
    assert found["settings"] == loaded.settings.model_dump()
    assert (found["data"], found["split"], found["seed"]) == (str(data), "random:0.8", 3)
    assert found["settings"]["seed"] == 3
    assert found["paper_rmse"] is None
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_without_a_split_nothing_is_tested(run: Run, data: Path, small: list[str]) -> None:
    for split in ([], ["--split", "none"]):
        result = run("train", data, *split, *small)
        assert result.exit_code == 0
        assert "test RMSE" not in result.stdout
        assert "parameters" in result.stdout


def test_a_model_that_nobody_keeps_is_pointed_out_before_it_is_trained(
    run: Run, data: Path, tmp_path: Path, small: list[str]
) -> None:
    told = run("train", data, *small).stderr
    assert "Nothing of the model will be kept" in told.partition("Training")[0]
    assert "--out" in told
    for options in (
        ["--split", "random:0.8"],
        ["--out", tmp_path / "model"],
        ["--run", tmp_path / "run"],
    ):
        assert "will be kept" not in run("train", data, *small, *options).stderr


def test_the_table_and_what_goes_to_stderr(run: Run, data: Path, small: list[str]) -> None:
    result = run("train", data, "--split", "kfold:5/1", *small)
    assert "test RMSE" in result.stdout
    assert "impossible predictions" in result.stdout
    assert "to test on" in result.stderr
    assert "Training: done" in result.stderr
    assert "Training" not in result.stdout


def test_users_held_out_whole_and_with_some_ratings_given(
    run: Run, data: Path, small: list[str]
) -> None:
    result = run("train", data, "--split", "users:0.8", *small)
    assert "predictions were impossible" in result.stderr
    assert "users:0.8/5" in result.stderr
    result = run("train", data, "--split", "users:0.8/5", *small, "--json")
    assert "impossible" not in result.stderr
    found = json.loads(result.stdout)
    assert found["split"] == "users:0.8/5"
    assert found["test"]["impossible"] < found["test"]["ratings"]
    assert found["seen"] == 0


def test_testing_on_what_was_learned_is_pointed_out(run: Run, data: Path, small: list[str]) -> None:
    table = data / "ratings.csv"
    result = run("train", data, "--split", f"{table},{table}", *small)
    count = len(load_ratings(data))
    assert f"{count} of the {count} test ratings are also training ratings" in result.stderr
    assert "seen in training" in result.stdout


def test_a_run_inside_the_model_is_refused_at_once(
    refused: Refused, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    for run in (out, out / "run"):
        assert "model's folder" in refused("train", data, "--out", out, "--run", run)[0]
    assert not list(tmp_path.iterdir())


def test_the_same_seed_gives_the_same_model(
    run_json: RunJson, data: Path, small: list[str]
) -> None:
    arguments = ("train", data, "--split", "random:0.8", *small)
    first, again, other = (run_json(*arguments, "--seed", seed) for seed in (1, 1, 2))
    assert first["test"]["rmse"] == again["test"]["rmse"] != other["test"]["rmse"]


def test_settings_by_option_and_by_name(run_json: RunJson, data: Path) -> None:
    options = ("--iterations", 1, "--pretrain-iterations", 0, "--no-telescoping", "--width", 8)
    found = run_json("train", data, *options, "--set", "max-depth=2", "--set", "caching=false")
    settings = found["settings"]
    assert (settings["telescoping"], settings["caching"]) == (False, False)
    assert (settings["max_depth"], settings["width"], settings["iterations"]) == (2, 8, 1)


def test_a_run_is_logged_and_resumed(
    run: Run, run_json: RunJson, refused: Refused, data: Path, tmp_path: Path, small: list[str]
) -> None:
    folder = tmp_path / "run"
    arguments = ("train", data, "--split", "random:0.8", "--run", folder, *small)
    first = run_json(*arguments)
    assert len((folder / "log.jsonl").read_text().splitlines()) == 3
    lines = refused(*arguments)
    assert lines[0] == f"error: {folder}: already holds a run"
    assert run_json(*arguments, "--resume")["test"] == first["test"]
    assert run_json(*arguments, "--force")["test"] == first["test"]


def test_all_that_is_written_can_be_read_by_the_same_people(
    run: Run, data: Path, tmp_path: Path, small: list[str]
) -> None:
    (tmp_path / "usual").touch()
    outputs = ("--out", tmp_path / "model", "--run", tmp_path / "run")
    assert run("train", data, *outputs, *small).exit_code == 0
    modes = {path: path.stat().st_mode for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.suffix for path in modes} >= {".safetensors", ".json", ".npy"}
    assert len(set(modes.values())) == 1, modes


def test_resuming_where_nothing_began(
    run: Run, data: Path, tmp_path: Path, small: list[str]
) -> None:
    result = run("train", data, "--run", tmp_path / "run", "--resume", *small)
    assert result.exit_code == 0
    assert "no checkpoint" in result.stderr


def test_resuming_another_run_is_refused(
    run: Run, data: Path, tmp_path: Path, small: list[str]
) -> None:
    folder = tmp_path / "run"
    assert run("train", data, "--run", folder, *small).exit_code == 0
    before = (folder / "log.jsonl").read_text()
    result = run("train", data, "--run", folder, "--resume", *small, "--learning-rate", "0.5")
    assert result.exit_code == 2
    assert "other settings" in result.stderr
    assert (folder / "log.jsonl").read_text() == before


def test_an_interrupted_run_says_how_to_go_on(
    run: Run, data: Path, tmp_path: Path, small: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"

    def interrupted(*arguments: object, **options: object) -> None:
        folder.mkdir()
        (folder / "checkpoint.safetensors").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(REC, "fit", interrupted)
    result = run("train", data, "--run", folder, "--out", tmp_path / "model", *small)
    assert result.exit_code == 130
    last = result.stderr.splitlines()[-1]
    assert last == f"interrupted; with --resume it continues from the checkpoint in {folder}"
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "evidence_limit=0"], "evidence_limit"),
        (["--evidence-limit", "0"], "evidence_limit"),
        (["--set", "evidence_limit=many"], "evidence_limit"),
        (["--set", "evidence=3"], "evidence"),
        (["--set", "iterations"], "--set"),
        (["--set", "width=3", "--width", "3"], "width is given twice"),
        (["--recipe", "paper", "--max-depth", "6"], "max_depth"),
        (["--cycle-blocking"], "cycle_blocking"),
        (["--validation", "1.5"], "validation"),
        (["--recipe", "soup"], "soup"),
        (["--split", "random:1.5"], "random:1.5"),
        (["--split", "u1"], "u1"),
        (["--resume"], "--resume"),
        (["--tensorboard"], "--tensorboard"),
    ],
)
def test_wrong_options_are_refused(
    refused: Refused, data: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    lines = refused("train", data, "--out", tmp_path / "model", *options)
    assert said in lines[0]
    assert not list(tmp_path.iterdir())


def test_an_output_that_is_there_is_kept(
    run: Run, refused: Refused, data: Path, tmp_path: Path, small: list[str]
) -> None:
    out = tmp_path / "model"
    arguments = ("train", data, "--out", out, *small)
    assert run(*arguments).exit_code == 0
    card = (out / "model.json").read_text()
    assert "already exists" in refused(*arguments)[0]
    assert (out / "model.json").read_text() == card
    assert run(*arguments, "--force", "--seed", 4).exit_code == 0
    assert (out / "model.json").read_text() != card
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_output_in_a_place_that_cannot_be(refused: Refused, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    for option in ("--out", "--run"):
        lines = refused("train", data, option, file / "model")
        assert lines[0] == f"error: {file}: is not a folder"


def test_a_file_in_the_place_of_the_model_is_kept(
    refused: Refused, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    monkeypatch.setattr(REC, "fit", lambda *_, **__: pytest.fail("it was trained"))
    assert refused("train", data, "--out", file, "--force")[0] == f"error: {file}: is not a folder"
    assert file.read_text() == "mine"


def test_nothing_to_watch(run_json: RunJson, data: Path, small: list[str]) -> None:
    found = run_json("train", data, *small, "--set", "validation=0")
    assert found["validation_rmse"] is None
    assert found["settings"]["patience"] == 0


def test_a_graph_is_mapped_and_learned_from(
    run: Run, run_json: RunJson, data: Path, tmp_path: Path, small: list[str]
) -> None:
    graph, out = tmp_path / "small.graph", tmp_path / "model"
    assert run("data", "convert", data, graph).exit_code == 0
    found = run_json("train", graph, "--out", out, *small)
    assert found["train_ratings"] == len(load_ratings(data))
    assert found["validation_rmse"] > 0
    assert len(REC.load(out).graph) == len(load_ratings(data))
    assert "ratings, mapped" in run("train", graph, *small).stderr
    assert "ratings, mapped" not in run("train", graph, "--split", "random:0.8", *small).stderr


def test_a_full_disk_is_told_of_by_the_name_of_the_model(
    run: Run, data: Path, tmp_path: Path, small: list[str], model: Path
) -> None:
    with full_disk(3000):
        result = run("train", data, "--out", tmp_path / "m", *small)
    assert result.exit_code == 2
    said = result.stderr.splitlines()[-2]
    assert said.startswith(f"error: {tmp_path / 'm'}: the model cannot be written (")
    assert not list(tmp_path.iterdir())
