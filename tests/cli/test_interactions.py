"""Interactions on the command line: read, described, converted, split, trained on, refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.conftest import SMALL_OPTIONS
from typer.testing import Result

from evichain import REC
from evichain.errors import DataError, SettingsError
from evichain.ratings import Ratings, load_ratings
from evichain.spark.shared import Shared
from evichain.tables import write_table

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]

EVENTS = "view=1,buy=5,dislike=-1"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(
        "user,item,event_type,time\nann,a,view,1\nann,a,view,2\nann,b,buy,3\nbob,a,dislike,4\n"
        "bob,c,view,5\n"
    )
    return path


def test_describe(run: Run, run_json: RunJson, log: Path) -> None:
    found = run_json("data", "describe", log, "--events", EVENTS)
    assert found["interactions"]
    assert found["events"] == [
        {"event": "view", "count": 3, "weight": 1.0},
        {"event": "buy", "count": 1, "weight": 5.0},
        {"event": "dislike", "count": 1, "weight": -1.0},
    ]
    assert (found["ratings"], found["duplicates"]) == (4, 1)
    assert (found["low"], found["high"]) == (-1.0, 5.0)
    result = run("data", "describe", log)
    assert "every event counts 1 (view (3), buy (1), dislike (1)); to weigh" in result.stderr
    assert "1 repeated interaction was added up" in result.stderr
    assert "dropped" not in result.stdout + result.stderr
    for shown in ("interactions", "Event types", "dislike", "Weights", "mean weight"):
        assert shown in result.stdout


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson", ".graph"])
@pytest.mark.parametrize("source", [".csv", ".parquet"])
def test_convert(run: Run, run_json: RunJson, log: Path, source: str, suffix: str) -> None:
    table, out = log.with_name(f"table{source}"), log.with_name(f"out{suffix}")
    write_table(pl.read_csv(log), table)
    converted = run_json("data", "convert", table, out, "--events", EVENTS)
    assert (converted["ratings"], converted["duplicates"]) == (4, 1)
    assert converted["interactions"]
    expected, found = (
        load_ratings(log, events={"view": 1, "buy": 5, "dislike": -1}),
        load_ratings(out),
    )
    assert found.interactions
    columns = ["user_id", "item_id", "rating"]
    assert sorted(found.frame[columns].rows()) == sorted(expected.frame[columns].rows())
    result = run("data", "convert", table, out, "--force")
    assert "out" + suffix in result.stderr
    assert "4 interactions of" in result.stderr
    assert "1 repeated interaction was added up" in result.stderr
    assert "earlier ratings" not in result.stderr


def test_split(run: Run, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "parts"
    result = run("data", "split", log, "leave-last-out", "--out", out)
    assert "2 interactions to train on, 2 to test on" in result.stderr
    test = load_ratings(out / "test.csv")
    assert test.interactions
    assert test.frame["item_id"].to_list() == ["b", "c"]


def test_event_types_that_do_not_fit(refused: Refused, log: Path) -> None:
    what, right = refused("data", "describe", log, "--events", "view=1,buy=2")
    assert "no weight for event type 'dislike'; found: view (3), buy (1), dislike (1)" in what
    assert "--events view=1,buy=2,dislike=1" in right
    for wrong in ("view", "view=much", "=1", "view=nan"):
        what, right = refused("data", "describe", log, "--events", wrong)
        assert what == f"Error: --events: cannot read {wrong!r}" or wrong in what
        assert "view=1,cart=3" in right
    log.write_text("user,item,rating\n1,2,3\n")
    assert "no column for the event type" in refused("data", "describe", log, "--events", "a=1")[0]


def test_ratings_that_are_all_the_same_are_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    Ratings.from_arrays(range(30), range(30), [5] * 30).frame.write_csv(path)
    for verb in (("train", path, *SMALL_OPTIONS), ("baseline", "biases", path)):
        result = run(*verb)
        assert result.exit_code == 2
        what, right = result.stderr.splitlines()[-2:]
        assert "all 30 ratings are 5: these look like interactions" in what
        assert "--columns weight=rating" in right


def test_a_model_of_interactions(
    run: Run, run_json: RunJson, refused: Refused, log: Path, tmp_path: Path
) -> None:
    model, later = tmp_path / "model", tmp_path / "later.csv"
    arguments = ("--key-size", 4, "--prototype-items", 4, "--events", EVENTS, "--out", model)
    result = run("train", log, "--split", "leave-last-out", *arguments)
    assert result.exit_code == 0, result.output
    assert "leave-last-out: 2 interactions to train on, 2 to test on" in result.stderr
    assert "the recipe is 'choices'" in result.stderr
    assert run_json("info", model)["recipe"] == "choices"
    assert run_json("info", model)["graph"]["interactions"]
    shown = run("info", model).stdout
    assert "interactions" in shown
    assert "weights" in shown
    assert run_json("recommend", model, "--rated", "a=99")["user"] is None
    loaded = REC.load(model)
    assert loaded.graph.interactions
    later.write_text("user,item\neve,a\n")
    assert len(loaded.add(later).graph) == 3
    later.write_text("user,item,rating\neve,a,3\n")
    with pytest.raises(DataError, match="these are ratings"):
        loaded.add(later)
    what, right = refused("serve", model, "--store", tmp_path / "store.db")
    assert "the model was trained on interactions, and the service answers from ratings" in what
    assert "recommend MODEL --everyone" in right
    with pytest.raises(SettingsError, match="trained on interactions, and Spark jobs take ratings"):
        Shared.load(model)


def test_a_store_holds_ratings(run: Run, log: Path, tmp_path: Path) -> None:
    result = run("import", log, "--store", tmp_path / "store.db")
    assert result.exit_code == 2
    what, right = result.stderr.splitlines()[-2:]
    assert "these are interactions, and a store holds ratings" in what
    assert "--columns rating=NAME" in right
    assert not (tmp_path / "store.db").exists()
