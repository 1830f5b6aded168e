from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evichain.cli._scores import paper_rmse
from evichain.ratings import load_split
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
    ("data", "recipe", "split", "figure"),
    [
        ("ml-100k", "paper", "random:0.8", 0.910),
        ("ml-1m", "paper", "random:0.8", 0.882),
        ("ml-10m", "paper", "random:0.8", 0.846),
        ("ml-100k", "paper", "u1", None),
        ("ml-100k", "other", "random:0.8", None),
        ("mine.csv", "paper", "random:0.8", None),
    ],
)
def test_the_papers_figure_stands_only_beside_its_own_protocol(
    data: str, recipe: str, split: str, figure: float | None
) -> None:
    assert paper_rmse(data, recipe, split) == figure


@pytest.mark.parametrize("verb", [["evaluate", "x.csv"], ["info"], ["recommend", "1"]])
def test_no_model_where_one_was_named(refused: Refused, tmp_path: Path, verb: list[str]) -> None:
    (tmp_path / "x.csv").write_text("user_id,item_id,rating\n1,100,4\n")
    for place in (tmp_path, tmp_path / "nowhere"):
        lines = refused(verb[0], place, *verb[1:])
        assert str(place) in lines[0]
