from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evichain.baselines import evaluate_references
from evichain.cli._scores import paper_rmse
from evichain.experiments.sources import PAPER_RMSE
from evichain.ratings import load_split
from evichain.recommender import REC

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


def test_the_same_figures_as_from_python(run_json: RunJson, model: Path, data: Path) -> None:
    found = run_json("evaluate", model, data, "--split", "random:0.8")
    expected = REC.load(model).evaluate(load_split(str(data), "random:0.8", 0).test)
    assert found["test"].keys() == expected.to_dict().keys()
    assert found["test"]["rmse"] == pytest.approx(expected.rmse)
    assert found["test"]["mae"] == pytest.approx(expected.mae)
    assert found["seen"] == 0
    assert found["seed"] == 0


def test_a_file_of_its_own(run: Run, run_json: RunJson, model: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.csv"
    test.write_text("user_id,item_id,rating\n1,100,4\nnobody,100,2\n")
    found = run_json("evaluate", model, test)
    assert (found["test"]["ratings"], found["test"]["impossible"], found["split"]) == (2, 1, None)
    assert "test RMSE" in run("evaluate", model, test).stdout


def test_the_same_lists_as_from_python(
    run: Run, run_json: RunJson, model: Path, data: Path
) -> None:
    test = load_split(str(data), "random:0.8", 0).test
    for options, n in (((), 10), (("--top", 3), 3)):
        found = run_json("evaluate", model, data, "--split", "random:0.8", *options)
        expected = REC.load(model).rank(test, n)
        assert expected.users > 20
        assert found["test"]["lists"] == pytest.approx(asdict(expected))
    shown = run("evaluate", model, data, "--split", "random:0.8", "--top", 3)
    for name in ("NDCG@3", "recall@3", "precision@3", "MRR@3", "MAP@3", "coverage@3"):
        assert name in shown.stdout
    (row,) = (line.split() for line in shown.stdout.splitlines() if line.split()[:1] == ["REC"])
    assert row[3:6] == [f"{x:.4f}" for x in (expected.ndcg, expected.recall, expected.precision)]
    assert "Ranking" in shown.stderr


def test_popularity_and_biases_stand_beside(
    run: Run, run_json: RunJson, model: Path, data: Path
) -> None:
    arguments = ("evaluate", model, data, "--split", "random:0.8")
    found, loaded = run_json(*arguments)["references"], REC.load(model)
    test = load_split(str(data), "random:0.8", 0).test
    expected = evaluate_references(loaded.graph, test, threshold=loaded.training_mean)
    assert found.keys() == expected.keys() == {"popularity", "biases"}
    for name, figures in expected.items():
        assert found[name]["rmse"] == pytest.approx(figures.rmse)
        assert found[name]["lists"] == pytest.approx(asdict(figures)["lists"])
    shown = [line.split() for line in run(*arguments).stdout.splitlines()]
    assert any(line[:2] == ["popularity", f"{expected['popularity'].rmse:.4f}"] for line in shown)
    assert any(line[:2] == ["shrunken", "biases"] for line in shown)


def test_figures_by_how_much_is_known(
    run: Run, run_json: RunJson, model: Path, tmp_path: Path
) -> None:
    test = tmp_path / "test.csv"
    test.write_text("user_id,item_id,rating\n1,100,4\n1,101,4\nnobody,100,2\n")
    found = run_json("evaluate", model, test, "--by-known")["test"]["by_known"]
    assert (found[0]["known"], found[0]["users"], found[0]["errors"]["ratings"]) == ("0", 1, 1)
    assert sum(group["errors"]["ratings"] for group in found) == 3
    assert "By the number of training ratings" in run("evaluate", model, test, "--by-known").stdout


def test_no_lists_when_none_are_asked_for(
    run: Run, run_json: RunJson, model: Path, data: Path
) -> None:
    arguments = ("evaluate", model, data, "--split", "random:0.8", "--top", 0)
    assert run_json(*arguments)["test"]["lists"] is None
    result = run(*arguments)
    assert "NDCG" not in result.stdout
    assert "Ranking" not in result.stderr


def test_nobody_to_rank_for_is_pointed_out(
    run: Run, run_json: RunJson, model: Path, tmp_path: Path
) -> None:
    test = tmp_path / "test.csv"
    test.write_text("user_id,item_id,rating\n1,100,1\n2,101,1\n")
    lists = run_json("evaluate", model, test)["test"]["lists"]
    assert (lists["ndcg"], lists["recall"], lists["users"]) == (None, None, 0)
    assert "no NDCG" in run("evaluate", model, test).stderr


@pytest.mark.parametrize("top", ["-1", "ten", "2.5"])
def test_a_length_that_is_none_is_refused(
    refused: Refused, model: Path, data: Path, top: str
) -> None:
    lines = refused("evaluate", model, data, "--top", top)
    assert "--top" in lines[0]
    assert lines[1] == "See evichain evaluate --help."


def test_ratings_that_the_model_learned_from_are_pointed_out(
    run: Run, model: Path, data: Path
) -> None:
    split = load_split(str(data), "random:0.8", 0)
    result = run("evaluate", model, data)
    whole = len(split.train) + len(split.test)
    assert f"{len(split.train)} of the {whole} test ratings" in result.stderr


def test_a_test_in_which_nothing_can_be_predicted_is_pointed_out(
    run: Run, model: Path, tmp_path: Path
) -> None:
    test = tmp_path / "test.csv"
    test.write_text("user_id,item_id,rating\nnobody,100,2\nno one,100,4\n")
    assert "all 2 predictions were impossible" in run("evaluate", model, test).stderr
    test.write_text("user_id,item_id,rating\nnobody,100,2\n1,100,4\n")
    assert "were impossible" not in run("evaluate", model, test).stderr


@pytest.mark.parametrize(
    ("data", "split", "figure"),
    [
        ("ml-100k", "random:0.8", 0.910),
        ("ml-1m", "random:0.8", 0.882),
        ("ml-10m", "random:0.8", 0.846),
        ("ml-100k", "u1", None),
        ("mine.csv", "random:0.8", None),
    ],
)
def test_the_papers_figure_stands_only_beside_its_own_protocol(
    data: str, split: str, figure: float | None
) -> None:
    assert paper_rmse(data, split) == figure


def test_nothing_stands_beside_an_error_on_what_was_seen(
    run: Run, run_json: RunJson, model: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PAPER_RMSE, (str(data), "random:0.8"), 0.91)
    arguments = ("evaluate", model, data, "--split", "random:0.8", "--top", 0)
    assert "(the paper: 0.910)" in run(*arguments).stdout
    assert "the paper" not in run(*arguments, "--seed", 5).stdout
    assert run_json(*arguments, "--seed", 5)["paper_rmse"] is None


@pytest.mark.parametrize("verb", [["evaluate", "x.csv"], ["info"], ["recommend", "1"]])
def test_no_model_where_one_was_named(refused: Refused, tmp_path: Path, verb: list[str]) -> None:
    (tmp_path / "x.csv").write_text("user_id,item_id,rating\n1,100,4\n")
    for path in (tmp_path, tmp_path / "nowhere"):
        lines = refused(verb[0], path, *verb[1:])
        assert str(path) in lines[0]
