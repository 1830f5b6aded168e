import gzip
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from typer.testing import Result

from evichain.ratings import read_pairs
from evichain.recommender import REC
from evichain.tables import write_table

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text("userId,movieId,genre\n1,100,drama\nnobody,101,\n2,100,\n")
    return path


def test_one_pair(run: Run, run_json: RunJson, model: Path) -> None:
    (found,) = run_json("predict", model, "--user", 1, "--item", 100)["predictions"]
    expected = REC.load(model).predict(1, 100)
    assert found["estimate"] == pytest.approx(expected.estimate)
    assert (found["reason"], found["title"]) == (None, "Film 0 (1990)")
    assert (found["user"], found["item"]) == ("1", "100")
    shown = run("predict", model, "--user", 1, "--item", 100).stdout
    assert shown.startswith("user 1, Film 0 (1990)\n")
    assert f"{expected.estimate:.3f}" in shown
    shown = run("predict", model, "--user", 1, "--item", 999).stdout
    assert shown.startswith("user 1, item 999\n")


def test_an_unknown_user_gets_a_mean_and_the_reason(run_json: RunJson, model: Path) -> None:
    (found,) = run_json("predict", model, "--user", "nobody", "--item", 100)["predictions"]
    expected = REC.load(model).predict("nobody", 100)
    assert found["estimate"] == pytest.approx(expected.estimate)
    assert found["std"] == pytest.approx(expected.std)
    assert "nobody" in found["reason"]


@pytest.mark.parametrize(
    ("suffix", "read"),
    [(".csv", pl.read_csv), (".parquet", pl.read_parquet), (".ndjson", pl.read_ndjson)],
)
def test_a_file_of_pairs(
    run: Run, model: Path, pairs: Path, suffix: str, read: Callable[[Path], pl.DataFrame]
) -> None:
    out = pairs.with_name(f"out{suffix}")
    assert run("predict", model, "--pairs", pairs, "--out", out).exit_code == 0
    frame = read(out)
    assert frame.columns == ["user_id", "item_id", "estimate", "reason", "std"]
    expected = REC.load(model).predict(["1", "nobody", "2"], [100, 101, 100])
    assert frame["estimate"].to_list() == pytest.approx(expected.estimates.tolist())
    assert [reason is None for reason in frame["reason"]] == [True, False, True]
    assert sorted(path.name for path in out.parent.iterdir()) == sorted([out.name, pairs.name])


def test_pairs_in_every_format_and_on_stdout(run: Run, model: Path, tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": [100, 101]})
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    answers = {run("predict", model, "--pairs", path).stdout for path in tmp_path.iterdir()}
    assert len(answers) == 1
    assert len(pl.read_csv(io.StringIO(answers.pop()))) == 2


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".ndjson"])
def test_brackets_and_stars_in_a_path_mean_themselves(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "a[1]b*?" / f"pairs{suffix}"
    path.parent.mkdir()
    frame = pl.DataFrame({"user_id": [1, 2], "item_id": [100, 101]})
    write_table(frame, path)
    assert read_pairs(path).frame.equals(frame)


TEXT = "user_id,item_id\n1,100\n2,101\n1,100\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("semicolons.csv", TEXT.replace(",", ";").encode()),
        ("tabs.txt", TEXT.replace(",", "\t").encode()),
        ("packed.csv.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("packed.tsv.zst", zstandard.compress(TEXT.replace(",", "\t").encode())),
        ("no-header.csv", TEXT.partition("\n")[2].encode()),
        ("with-rating.csv", b"1,100,4\n2,101,3\n1,100,5\n"),
        ("windows.csv", TEXT.encode("utf-16")),
        ("latin.csv", TEXT.encode() + "né,101\n".encode("latin-1")),
    ],
)
def test_pairs_are_read_as_ratings_are(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    rows = [(str(user), item) for user, item in read_pairs(path).frame.rows()]
    assert rows[:3] == [("1", 100), ("2", 101), ("1", 100)]
    assert rows[3:] == ([("né", 101)] if name == "latin.csv" else [])
    archive = tmp_path / "pairs.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.write(path, name)
    if not name.endswith(".txt"):
        assert len(read_pairs(archive).frame) == len(rows)


def test_pairs_as_json(run_json: RunJson, model: Path, pairs: Path) -> None:
    found = run_json("predict", model, "--pairs", pairs)
    assert (found["pairs"], found["impossible"], found["written"]) == (3, 1, None)
    assert [row["user"] for row in found["predictions"]] == ["1", "nobody", "2"]
    assert [row["item"] for row in found["predictions"]] == ["100", "101", "100"]
    out = pairs.with_name("out.csv")
    found = run_json("predict", model, "--pairs", pairs, "--out", out)
    assert (found["written"], found["predictions"]) == (str(out), None)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--user", "1"],
        ["--item", "1"],
        ["--user", "1", "--pairs", "x.csv"],
        ["--user", "1", "--item", "100", "--out", "x.csv"],
    ],
)
def test_half_a_question_is_refused(refused: Refused, model: Path, options: list[str]) -> None:
    refused("predict", model, *options)


def test_blanks_beside_commas_and_blank_lines_are_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("user, item\n1, 100\n\n 2 ,\ta b\n\n")
    assert read_pairs(path).frame.rows() == [(1, "100"), (2, "a b")]


def test_ids_that_a_table_has_as_floats_are_known(run_json: RunJson, model: Path) -> None:
    path = model.parent / "floats.parquet"
    pl.DataFrame({"user": [1.0, 999.0], "item": [100.0, 100.0]}).write_parquet(path)
    found = run_json("predict", model, "--pairs", path)
    assert found["impossible"] == 1
    expected = REC.load(model).predict(1, 100).estimate
    assert found["predictions"][0]["estimate"] == pytest.approx(expected)
    assert found["predictions"][0]["user"] == "1"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "user_id,movie\n1,\n", "row 2: item_id is missing"),
        ("a.csv", "user_id,movie\n\n1,2\n1, \n", "row 4: item_id is missing"),
        ("a.csv", "user_id,thing\n1,2\n", "item_id"),
        ("a.csv", "user,uid,item\n1,2,3\n", "each of 'user', 'uid' could be the user_id"),
        ("a.csv", "user_id,item_id\n", "no pairs"),
        ("a.csv", "", "is empty"),
        ("a.parquet", "user_id,item_id\n", "is not a Parquet file"),
        ("a.ndjson", "{", "row 1: is not JSON"),
        ("a.csv", "ann,apple\nbob,pear\n", "no column for user_id or item_id"),
    ],
)
def test_bad_pairs_are_refused(
    refused: Refused, model: Path, tmp_path: Path, name: str, text: str, said: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    lines = refused("predict", model, "--pairs", path, "--out", tmp_path / "out.csv")
    assert str(path) in lines[0]
    assert said in lines[0]
    assert list(tmp_path.iterdir()) == [path]


def test_pairs_from_a_pipe_are_refused(refused: Refused, model: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pairs.csv"
    os.mkfifo(pipe)
    lines = refused("predict", model, "--pairs", pipe)
    assert lines[0] == f"error: {pipe}: is a pipe or a device, not a file"


def test_an_output_that_is_there_is_kept(refused: Refused, model: Path, pairs: Path) -> None:
    before = pairs.read_text()
    lines = refused("predict", model, "--pairs", pairs, "--out", pairs)
    assert "already exists" in lines[0]
    assert pairs.read_text() == before


def test_columns_of_pairs_can_be_named(
    run: Run, run_json: RunJson, refused: Refused, model: Path
) -> None:
    path = model.with_name("own.csv")
    path.write_text("customer_no,sku\n1,100\n,100\n")
    named = ("predict", model, "--pairs", path, "--columns", "user=customer_no,item=sku")
    assert "row 3" in refused(*named)[0]
    found = run_json(*named, "--skip-bad-rows")["predictions"]
    assert [(one["user"], one["item"]) for one in found] == [("1", "100")]
    path.write_text("user,item,genre\n1,100,drama\n,100,\n")
    told = run("predict", model, "--pairs", path, "--skip-bad-rows").stderr
    assert "not used: column 'genre'" in told
    assert "skipped 1 bad row (first: row 3: user_id is missing)" in told
    asked = ("predict", model, "--user", 1, "--item", 100)
    assert "--columns" in refused(*asked, "--columns", "user=a")[0]
