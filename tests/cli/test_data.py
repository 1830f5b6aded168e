import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import Result

from evichain.ratings import CATALOGUE, cache_folder, load_ratings, load_split
from evichain.ratings.graph import Graph
from evichain.tables import write_table

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


def test_list_shows_the_catalogue(run: Run, run_json: RunJson) -> None:
    assert all(name in run("data", "list").stdout for name in CATALOGUE)
    listed = run_json("data", "list")["datasets"]
    assert [one["name"] for one in listed] == list(CATALOGUE)
    assert not any(one["fetched"] for one in listed)


def test_what_was_fetched_by_half_is_not_fetched(run_json: RunJson) -> None:
    folder = cache_folder() / "ml-1m"
    folder.mkdir(parents=True)
    (folder / "ratings.dat").touch()
    try:
        assert not any(one["fetched"] for one in run_json("data", "list")["datasets"])
    finally:
        shutil.rmtree(folder)


def test_fetching_what_is_not_in_the_catalogue(refused: Refused) -> None:
    lines = refused("data", "fetch", "ml-100")
    assert "ml-100" in lines[0]
    assert "ml-100k" in lines[1]


def test_describe_counts(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text("user,item,rating,time\na,x,1,0\na,y,2,86400\nb,x,2,10\nb,x,4,20\n")
    found = run_json("data", "describe", table)
    assert (found["ratings"], found["users"], found["items"], found["duplicates"]) == (3, 2, 2, 1)
    assert found["density"] == 0.75
    assert (found["low"], found["high"]) == (1.0, 4.0)
    assert found["levels"] == [{"rating": level, "count": 1} for level in (1.0, 2.0, 4.0)]
    assert found["ratings_per"]["user"] == found["ratings_per"]["item"]
    assert found["ratings_per"]["user"]["max"] == 2
    assert (found["from"], found["to"]) == ("1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z")
    assert found["titles"] == 0
    shown = run("data", "describe", table).stdout
    assert "75.000%" in shown
    assert "1 to 4, 3 levels" in shown


def test_a_time_that_no_calendar_has_is_shown_as_it_is(
    run: Run, run_json: RunJson, tmp_path: Path
) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text("user,item,rating,time\na,x,1,0\na,y,2,10\nb,x,2,99999999999999\n")
    found = run_json("data", "describe", table)
    assert (found["from"], found["to"]) == ("1970-01-01T00:00:00Z", "99999999999999")
    assert "99999999999999" in run("data", "describe", table).stdout


def test_describe_sees_titles(run_json: RunJson, data: Path) -> None:
    assert run_json("data", "describe", data)["titles"] == 20


def test_describe_calls_many_values_continuous(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "ratings.csv"
    rows = [f"{i},{i},{i / 7}" for i in range(400)]
    table.write_text("\n".join(["user,item,rating", *rows]))
    shown = run("data", "describe", table).stdout
    assert "continuous" in shown
    assert "Levels" not in shown


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".ndjson", ".jsonl"])
def test_convert_keeps_every_rating(run: Run, data: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    assert run("data", "convert", data, out).exit_code == 0
    assert load_ratings(out).frame.equals(load_ratings(data).frame)
    assert list(tmp_path.iterdir()) == [out]


def test_convert_to_a_graph(run: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "made" / "here.graph"
    assert run("data", "convert", data, out).exit_code == 0
    graph = Graph.load(out)
    assert len(graph) == len(load_ratings(data))
    assert graph.title(100) == "Film 0 (1990)"


def test_convert_replaces_only_when_forced(
    run: Run, refused: Refused, data: Path, tmp_path: Path
) -> None:
    for out in (tmp_path / "out.csv", tmp_path / "out.graph"):
        assert run("data", "convert", data, out).exit_code == 0
        lines = refused("data", "convert", data, out)
        assert lines == [
            f"error: {out}: already exists",
            "Give another name, or --force to replace it.",
        ]
        assert run("data", "convert", data, out, "--force").exit_code == 0
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_of_someone_else_is_never_replaced(
    refused: Refused, data: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.graph"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    lines = refused("data", "convert", data, mine, "--force")
    assert "did not make" in lines[0]
    assert (mine / "thesis.tex").read_text() == "years of work"


def test_a_folder_with_something_of_someone_else_is_kept_whole(
    refused: Refused, data: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "kag"
    mine.mkdir()
    for name in ("train.csv", "test.csv", "thesis.txt"):
        (mine / name).write_text("years of work")
    refused("data", "split", data, "random:0.5", "--out", mine, "--force")
    assert {path.read_text() for path in mine.iterdir()} == {"years of work"}
    assert len(list(mine.iterdir())) == 3


@pytest.mark.parametrize(
    "verb",
    [
        ("convert", "{data}", "{out}"),
        ("split", "{data}", "random:0.5", "--out", "{out}"),
        ("generate", "--ratings", "3000", "--out", "{out}"),
    ],
    ids=lambda verb: verb[0],
)
def test_no_folder_takes_the_place_of_a_file(
    refused: Refused, data: Path, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    out = tmp_path / "mine.graph"
    out.write_text("mine")
    arguments = [one.format(data=data, out=out) for one in verb]
    for options in ([], ["--force"]):
        assert refused("data", *arguments, *options)[0] == f"error: {out}: is not a folder"
    assert out.read_text() == "mine"


def test_convert_to_nothing_known(refused: Refused, data: Path, tmp_path: Path) -> None:
    for name in ("out.xlsx", "out"):
        lines = refused("data", "convert", data, tmp_path / name)
        assert ".parquet" in lines[1]
    assert not list(tmp_path.iterdir())


def test_split_writes_what_load_split_gives(run: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "parts"
    result = run("data", "split", data, "random:0.8", "--out", out, "--seed", 5, "--json")
    told = json.loads(result.stdout)
    expected = load_split(str(data), "random:0.8", 5)
    assert (told["train"], told["test"]) == (len(expected.train), len(expected.test))
    for name, part in (("train", expected.train), ("test", expected.test)):
        assert load_ratings(out / f"{name}.csv").frame.equals(part.frame)


@pytest.mark.parametrize("spec", ["users:0.5/3", "growth:0.3"])
def test_split_loses_no_ratings(
    run: Run, run_json: RunJson, data: Path, tmp_path: Path, spec: str
) -> None:
    out = tmp_path / "parts"
    told = run_json("data", "split", data, spec, "--out", out)
    expected = load_split(str(data), spec, 0)
    assert expected.later is not None
    assert told["later"] == len(expected.later) > 0
    assert load_ratings(told["files"]["later"]).frame.equals(expected.later.frame)
    said = run("data", "split", data, spec, "--out", out, "--force").stderr
    assert f"{told['later']} that come later" in said


def test_a_split_without_later_ratings_says_so(
    run_json: RunJson, data: Path, tmp_path: Path
) -> None:
    told = run_json("data", "split", data, "random:0.8", "--out", tmp_path / "parts")
    assert told["later"] == 0
    assert set(told["files"]) == {"train", "test"}


def test_a_split_is_replaced_when_forced(run: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "parts"
    for format in ("csv", "parquet", "ndjson"):
        for spec, more in (("users:0.5/3", {f"later.{format}"}), ("random:0.5", set())):
            arguments = ("data", "split", data, spec, "--out", out, "--format", format)
            assert run(*arguments, "--force").exit_code == 0
            names = {path.name for path in out.iterdir()}
            assert names == {f"{name}.{format}" for name in ("train", "test", "items")} | more


def test_split_in_parquet_and_read_back_as_given_files(
    run: Run, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "parts"
    arguments = ("data", "split", data, "time:0.8", "--out", out, "--format", "parquet")
    assert run(*arguments).exit_code == 0
    spec = f"{out / 'train.parquet'},{out / 'test.parquet'}"
    again = tmp_path / "again"
    assert run("data", "split", data, spec, "--out", again).exit_code == 0
    assert len(pl.read_csv(again / "test.csv")) == len(pl.read_parquet(out / "test.parquet"))


@pytest.mark.parametrize("spec", ["random", "random:2", "random:x", "kfold:5/9", "halves:0.5"])
def test_a_misspelled_split_writes_nothing(
    refused: Refused, data: Path, tmp_path: Path, spec: str
) -> None:
    refused("data", "split", data, spec, "--out", tmp_path / "parts")
    assert not list(tmp_path.iterdir())


def test_a_format_that_splits_are_not_written_in(
    refused: Refused, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "parts"
    lines = refused("data", "split", data, "u1", "--out", out, "--format", "xlsx")
    assert "csv, parquet, ndjson" in lines[1]


def test_made_up_ratings_become_a_graph(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    made, graph = tmp_path / "made", tmp_path / "made.graph"
    arguments = ("--ratings", 3000, "--users", 60, "--items", 300, "--seed", 5, "--out", made)
    card = run_json("data", "generate", *arguments)
    assert (card["ratings"], card["users"], card["items"], card["seed"]) == (3000, 60, 300, 5)
    assert card["floor_rmse"] < card["mean_rmse"]
    assert card["peak_bytes"] > 0
    assert f"{card['floor_rmse']:.4f}" in run("data", "generate", *arguments, "--force").stderr
    converted = run_json("data", "convert", made, graph)
    assert converted["ratings"] == 3000
    assert len(load_ratings(made)) == len(Graph.load(graph)) == 3000


def test_a_folder_with_something_else_is_not_replaced(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "synthetic.json").touch()
    (tmp_path / "made" / "thesis.txt").touch()
    arguments = ("--ratings", 3000, "--out", tmp_path / "made", "--force")
    assert "did not make" in refused("data", "generate", *arguments)[0]


@pytest.mark.parametrize("source", ["ratings.parquet", "ratings.csv"])
@pytest.mark.parametrize("target", ["out.graph", "out.csv", "out.parquet"])
def test_repeated_pairs_are_told(run: Run, tmp_path: Path, source: str, target: str) -> None:
    table = pl.DataFrame({"user": [1, 1, 2], "item": [3, 3, 3], "rating": [1, 2, 3]})
    write_table(table, tmp_path / source)
    result = run("data", "convert", tmp_path / source, tmp_path / target, "--json")
    assert "1 earlier ratings of a pair were dropped" in result.stderr
    told = json.loads(result.stdout)
    assert (told["ratings"], told["duplicates"]) == (2, 1)
    found = load_ratings(tmp_path / target).frame.select("user_id", "item_id", "rating")
    assert sorted(found.rows()) == [(1, 3, 2.0), (2, 3, 3.0)]


def titles_of(path: Path) -> list[tuple[object, ...]]:
    titles = load_ratings(path).titles
    assert titles is not None
    return sorted(titles.rows())


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson", ".graph"])
def test_convert_and_split_keep_titles(run: Run, data: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    assert run("data", "convert", data, out).exit_code == 0
    assert titles_of(out) == titles_of(data)
    if suffix != ".graph":
        arguments = ("data", "split", out, "random:0.8", "--format", suffix[1:])
        assert run(*arguments, "--out", tmp_path / "parts").exit_code == 0
        assert titles_of(tmp_path / "parts" / f"test{suffix}") == titles_of(data)


def test_named_columns_items_and_bad_rows(run: Run, refused: Refused, tmp_path: Path) -> None:
    table, items, out = tmp_path / "t.csv", tmp_path / "shop.tsv", tmp_path / "out.csv"
    table.write_text("customer_no,sku,points,colour\n1,a,4,red\n1,b,x,red\n2,a,3,blue,7\n2,b,5,\n")
    items.write_text("sku_id\tid\tname\n9\ta\tApple\n8\tc\tCherry\n")
    columns = ("--columns", "user=customer_no,item=sku,rating=points")
    assert "row 4: has 5 columns" in refused("data", "describe", table, *columns)[0]
    for target in (out, tmp_path / "out.graph"):
        options = (*columns, "--skip-bad-rows", "--items", items)
        result = run("data", "convert", table, target, *options)
        assert result.exit_code == 0, result.output
        assert "skipped 2 bad rows (first: row 3: rating 'x' is not a" in result.stderr
        assert "not used: column 'colour'" in result.stderr
        assert "1 of its 2 items have no ratings" in result.stderr
        assert load_ratings(target).frame.select("user_id", "item_id", "rating").rows() == [
            (1, "a", 4.0),
            (2, "b", 5.0),
        ]
    assert titles_of(out) == [("a", "Apple")]
    wrong = refused("data", "describe", table, "--columns", "user=customer,item=sku")
    assert "no column 'customer' (named as the user_id) among 'customer_no'" in wrong[0]
    assert "user=customer_no" in refused("data", "describe", table, "--columns", "user")[1]


def test_the_named_columns_hold_for_the_table_of_items_too(
    run: Run, refused: Refused, tmp_path: Path
) -> None:
    table, items, out = tmp_path / "t.csv", tmp_path / "shop.csv", tmp_path / "out.csv"
    table.write_text("customer_no,sku,points\n1,a,4\n2,b,5\n")
    items.write_text("sku,label\na,Apple\n")
    columns = "user=customer_no,item=sku,rating=points"
    asked = ("data", "convert", table, out, "--items", items, "--columns")
    assert "no column for title among 'sku', 'label'" in refused(*asked, columns)[0]
    result = run(*asked, f"{columns},title=label")
    assert result.exit_code == 0, result.output
    assert titles_of(out) == [("a", "Apple")]
