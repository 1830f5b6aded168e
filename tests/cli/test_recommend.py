from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import Result

from evichain.ratings import Side
from evichain.recommender import REC

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


def test_for_a_user(run: Run, run_json: RunJson, model: Path) -> None:
    expected = REC.load(model).recommend(1, 4)
    told = run_json("recommend", model, 1, "-n", 4)
    assert told["user"] == "1"
    found = told["recommendations"]
    assert [row["item"] for row in found] == [str(one.item) for one in expected]
    assert [row["title"] for row in found] == [one.title for one in expected]
    assert [row["estimate"] for row in found] == pytest.approx([o.estimate for o in expected])
    shown = run("recommend", model, 1, "-n", 4).stdout
    assert all(one.title in shown for one in expected)


def test_what_was_rated_is_left_out_unless_asked_for(run_json: RunJson, model: Path) -> None:
    graph = REC.load(model).graph
    rated = {
        str(item) for item, _ in graph.rated(Side.USER, int(graph.ids[Side.USER].index([1])[0]))
    }
    new = {row["item"] for row in run_json("recommend", model, 1, "-n", 50)["recommendations"]}
    assert not new & rated
    arguments = ("recommend", model, 1, "-n", 50, "--include-seen")
    assert {row["item"] for row in run_json(*arguments)["recommendations"]} >= rated


def test_for_someone_who_is_not_in_the_data(run: Run, run_json: RunJson, model: Path) -> None:
    arguments = ("recommend", model, "--rated", "100=5", "--rated", "101=1", "-n", 3)
    found = run_json(*arguments)
    expected = REC.load(model).recommend([(100, 5.0), (101, 1.0)], 3)
    assert [row["item"] for row in found["recommendations"]] == [str(one.item) for one in expected]
    assert found["user"] is None
    assert "For a guest" in run(*arguments).stdout


def test_unknown_items_of_a_guest_are_ignored_and_said(run: Run, model: Path) -> None:
    told = run("recommend", model, "--rated", "100=5", "--rated", "nothing=5")
    assert told.exit_code == 0
    assert "ignored, because the model does not know them: nothing" in told.stderr


def test_reasons_are_shown(run: Run, model: Path) -> None:
    told = run("recommend", model, "--rated", "100=5", "--rated", "101=1", "--reasons")
    assert "because of" in told.stdout


def test_similar_items(run: Run, run_json: RunJson, model: Path) -> None:
    told = run_json("recommend", model, "--similar-to", 100, "-n", 3)
    assert told["item"] == "100"
    found = told["similar"]
    expected = REC.load(model).similar_items(100, 3)
    assert [row["item"] for row in found] == [str(one.item) for one in expected]
    assert "Like Film 0 (1990)" in run("recommend", model, "--similar-to", 100).stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "exactly one of"),
        (["1", "--rated", "100=5"], "exactly one of"),
        (["1", "--similar-to", "100"], "exactly one of"),
        (["--rated", "100"], "--rated"),
        (["--rated", "=4"], "--rated"),
        (["--rated", "100=nan"], "--rated"),
        (["--rated", "100=good"], "--rated"),
        (["--rated", "100=50"], "off the scale"),
        (["--similar-to", "nothing"], "nothing"),
        (["nobody"], "nobody"),
        (["--similar-to", "100", "--caution", "1"], "--caution: is not for --similar-to"),
        (["--similar-to", "100", "--reasons"], "--reasons: is not for --similar-to"),
        (["--similar-to", "100", "--include-seen"], "--include-seen: is not for --similar-to"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    refused: Refused, model: Path, options: list[str], said: str
) -> None:
    assert said in refused("recommend", model, *options)[0]


def test_an_unknown_user_may_be_a_guest(refused: Refused, model: Path) -> None:
    assert "guest" in refused("recommend", model, "nobody")[1]


def test_for_everyone_into_a_file(
    run: Run, run_json: RunJson, refused: Refused, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "lists.csv"
    told = run_json("recommend", model, "--everyone", "-n", 3, "--out", out)
    expected = REC.load(model).recommend_all(n=3)
    assert told["recommendations"] == len(expected)
    assert told["users"] == expected["user_id"].n_unique()
    found = pl.read_csv(out)
    assert found.select("user_id", "rank", "item_id").rows() == expected[:, :3].rows()
    explained = tmp_path / "explained.csv"
    run("recommend", model, "--everyone", "-n", 3, "--reasons", "--out", explained)
    assert pl.read_csv(explained).columns[6:8] == ["reason_item_id", "reason_title"]
    assert "already exists" in refused("recommend", model, "--everyone", "--out", out)[0]
    assert "goes with --everyone" in refused("recommend", model, "1", "--out", out)[0]
    assert "goes with --everyone" in refused("recommend", model, "--everyone")[0]
    assert ".xlsx" in refused("recommend", model, "--everyone", "--out", tmp_path / "a.xlsx")[0]
    assert (
        "lists of 2"
        in run("recommend", model, "--everyone", "-n", 2, "--out", out, "--force").stderr
    )
