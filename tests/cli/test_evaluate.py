from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evichain.cli._scores import paper_rmse
from evichain.ratings import load_split
from evichain.recipes import PAPER_RMSE
from evichain.recommender import REC

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


def test_the_same_figures_as_from_python(run_json: RunJson, model: Path, data: Path) -> None:
    found = run_json("evaluate", model, data, "--split", "random:0.8")
    expected = REC.load(model).evaluate(load_split(str(data), "random:0.8", 0).test)
    assert found["test_rmse"] == pytest.approx(expected.rmse)
    assert found["test_mae"] == pytest.approx(expected.mae)
    assert found["test_ratings"] == expected.ratings
    assert found["seen"] == 0
    assert found["seed"] == 0


def test_a_file_of_its_own(run: Run, run_json: RunJson, model: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.csv"
    test.write_text("user_id,item_id,rating\n1,100,4\nnobody,100,2\n")
    found = run_json("evaluate", model, test)
    assert (found["test_ratings"], found["impossible"], found["split"]) == (2, 1, None)
    assert "test RMSE" in run("evaluate", model, test).stdout


def test_the_same_ranking_as_from_python(
    run: Run, run_json: RunJson, model: Path, data: Path
) -> None:
    test = load_split(str(data), "random:0.8", 0).test
    for options, n in (((), 10), (("--top", 3), 3)):
        found = run_json("evaluate", model, data, "--split", "random:0.8", *options)
        expected = REC.load(model).rank(test, n)
        assert expected.users > 20
        assert (found["top"], found["ranked_users"]) == (n, expected.users)
        for name in ("ndcg", "recall", "coverage"):
            assert found[name] == pytest.approx(getattr(expected, name))
    shown = run("evaluate", model, data, "--split", "random:0.8", "--top", 3)
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["NDCG@3", f"{expected.ndcg:.4f}"] in lines
    assert ["recall@3", f"{expected.recall:.4f}"] in lines
    assert ["coverage@3", f"{expected.coverage:.4f}"] in lines
    assert ["ranked", "users", str(expected.users)] in lines
    assert "Ranking" in shown.stderr


def test_no_ranking_when_none_is_asked_for(
    run: Run, run_json: RunJson, model: Path, data: Path
) -> None:
    arguments = ("evaluate", model, data, "--split", "random:0.8", "--top", 0)
    found = run_json(*arguments)
    figures = ("ndcg", "recall", "coverage", "ranked_users")
    assert [found[name] for name in figures] == [None] * 4
    assert found["top"] == 0
    result = run(*arguments)
    assert "NDCG" not in result.stdout
    assert "Ranking" not in result.stderr


def test_nobody_to_rank_for_is_pointed_out(
    run: Run, run_json: RunJson, model: Path, tmp_path: Path
) -> None:
    test = tmp_path / "test.csv"
    test.write_text("user_id,item_id,rating\n1,100,1\n2,101,1\n")
    found = run_json("evaluate", model, test)
    assert (found["ndcg"], found["recall"], found["ranked_users"]) == (None, None, 0)
    result = run("evaluate", model, test)
    assert "no NDCG and no recall" in result.stderr
    assert "NDCG" not in result.stdout
    assert "coverage@10" in result.stdout


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
    assert f"{len(split.train)} of the {whole} ratings" in result.stderr


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
    for place in (tmp_path, tmp_path / "nowhere"):
        lines = refused(verb[0], place, *verb[1:])
        assert str(place) in lines[0]
