import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evichain.ratings import Side, load_ratings
from evichain.service.store import open_store, queries
from evichain.service.store.packing import pack

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with a few ratings, all of them with a time."""
    url = str(tmp_path / "ratings.db")
    with open_store(url) as opened:
        opened.put([(2, 7, 3.5, 10), (1, 8, 4, 20), (1, 7, 5, 5)])
        opened.put_titles({7: "Seven", 9: "Nine"})
    return url


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".ndjson", ".jsonl"])
def test_every_format_is_read_again(
    run_json: RunJson, store: str, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / "made" / f"ratings{suffix}"
    found = run_json("export", "--store", store, "--out", out)
    assert found == {
        "store": store,
        "written": str(out),
        "ratings": 3,
        "without_timestamp": 0,
        "titles": None,
    }
    expected = [(2, 7, 3.5, 10), (1, 8, 4.0, 20), (1, 7, 5.0, 5)]
    assert load_ratings(out).frame.rows() == expected
    assert list(out.parent.iterdir()) == [out]


def test_titles_are_found_beside_the_ratings(run: Run, store: str, tmp_path: Path) -> None:
    out, titles = tmp_path / "ratings.csv", tmp_path / "items.csv"
    result = run("export", "--store", store, "--out", out, "--titles", titles)
    assert result.exit_code == 0
    assert f"{out}: 3 ratings of {store}" in result.stderr
    read = load_ratings(out).titles
    assert read is not None
    assert dict(read.iter_rows()) == {7: "Seven", 9: "Nine"}


def test_what_was_exported_can_be_imported_though_some_times_are_not_known(
    run: Run, store: str, tmp_path: Path
) -> None:
    with open_store(store) as opened:
        opened.put([(3, 7, 1)])
    out, again = tmp_path / "ratings.csv", str(tmp_path / "again.db")
    assert run("export", "--store", store, "--out", out).exit_code == 0
    assert run("import", out, "--store", again).exit_code == 0
    with open_store(again) as restored, open_store(store) as opened:
        for user in (1, 2, 3):
            there = opened.ratings_of(Side.USER, user)
            assert restored.ratings_of(Side.USER, user) == there
    run("export", "--store", store, "--out", out, "--force", "--no-timestamps")
    assert load_ratings(out).frame.columns == ["user_id", "item_id", "rating"]


def test_nothing_is_replaced_unless_forced(
    run: Run, refused: Refused, store: str, tmp_path: Path
) -> None:
    out = tmp_path / "ratings.csv"
    out.write_text("mine")
    arguments = ("export", "--store", store, "--out", out)
    assert refused(*arguments)[0] == f"error: {out}: already exists"
    assert out.read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0
    assert len(load_ratings(out)) == 3
    refused("export", "--store", store, "--out", tmp_path / "new.csv", "--titles", out)
    assert not (tmp_path / "new.csv").exists()


def test_what_cannot_be_exported(refused: Refused, store: str, tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    missing = tmp_path / "none.db"
    assert "no such store" in refused("export", "--store", missing, "--out", tmp_path / "a.csv")[0]
    for name in ("a.xlsx", "a"):
        assert ".parquet" in refused("export", "--store", store, "--out", tmp_path / name)[1]
    same = ("--out", tmp_path / "a.csv", "--titles", tmp_path / "a.csv")
    assert "--titles" in refused("export", "--store", store, *same)[0]
    below = Path(store) / "a.csv"
    assert "is not a folder" in refused("export", "--store", store, "--out", below)[0]
    assert set(tmp_path.iterdir()) <= before | {Path(f"{store}-wal"), Path(f"{store}-shm")}


def test_two_users_that_a_table_cannot_tell_apart(
    refused: Refused, store: str, tmp_path: Path
) -> None:
    with (
        open_store(store) as opened,
        opened._write_transaction() as session,
    ):  # as an earlier version would
        session.change(queries.PUT, [*pack("1"), *pack(7), 1.0, None, 99])
    out = tmp_path / "a.csv"
    assert "1 and '1' differ only in type" in refused("export", "--store", store, "--out", out)[0]
    assert not out.exists()


def test_a_store_of_a_later_version(refused: Refused, store: str, tmp_path: Path) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE evichain_state SET schema = 2")
    connection.close()
    lines = refused("export", "--store", store, "--out", tmp_path / "a.csv")
    assert lines[1] == "Upgrade evichain."
