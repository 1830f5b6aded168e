import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.postgres import Server
from typer.testing import Result

from evichain.ratings import load_ratings
from evichain.service.store import open_store

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ratings.db'}"
    server: Server = request.getfixturevalue("postgres")
    return server.fresh()


def test_ratings_and_titles_are_in_the_store(run_json: RunJson, data: Path, url: str) -> None:
    ratings = load_ratings(data)
    found = run_json("import", data, "--store", url)
    outcome = {"new": len(ratings), "changed": 0, "unchanged": 0}
    counts = {"ratings": len(ratings), "duplicates": 0, "titles": 20}
    assert found == {"source": str(data), "store": found["store"], **counts, **outcome}
    with open_store(url) as store, store.snapshot() as snapshot:
        held = snapshot.ratings()
    order = ["user_id", "item_id"]
    assert held.frame.sort(order).equals(ratings.frame.sort(order))
    assert held.titles is not None
    assert ratings.titles is not None
    assert held.titles.sort("item_id").equals(ratings.titles.sort("item_id"))


def test_a_second_time_says_what_changed(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    store, table = tmp_path / "ratings.db", tmp_path / "ratings.csv"
    table.write_text("user,item,rating\na,x,1\na,y,2\nb,x,2\nb,x,4\n")
    found = run_json("import", table, "--store", store)
    assert (found["ratings"], found["duplicates"], found["new"]) == (3, 1, 3)
    table.write_text("user,item,rating\na,x,1\na,y,5\nc,x,2\n")
    result = run("import", table, "--store", store)
    shown = {
        line.rsplit(maxsplit=1)[0].strip(): line.split()[-1]
        for line in result.stdout.splitlines()[1:]
    }
    assert shown == {
        "ratings": "3",
        "duplicates": "0",
        "titles": "0",
        "new": "1",
        "changed": "1",
        "unchanged": "1",
    }


def test_a_large_table_shows_progress(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "ratings.parquet"
    rows = 12_000
    pl.DataFrame({"user": range(rows), "item": [1] * rows, "rating": [1.0] * rows}).write_parquet(
        table
    )
    result = run("import", table, "--store", tmp_path / "ratings.db")
    assert result.exit_code == 0
    assert "Importing: done, 12,000 ratings" in result.stderr


def test_the_store_can_be_named_by_the_environment(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVICHAIN_STORE", str(tmp_path / "named.db"))
    assert run("import", data).exit_code == 0
    assert run("export", "--out", tmp_path / "out.csv").exit_code == 0
    assert load_ratings(tmp_path / "out.csv").frame.equals(load_ratings(data).frame)


def test_from_store_to_store(run_json: RunJson, tmp_path: Path, postgres: Server) -> None:
    first, second = f"sqlite:///{tmp_path / 'first.db'}", postgres.fresh()
    with open_store(first) as store:
        store.put([(1, "a", 3.7, 10), ("b", 2, 4)])
        store.put_titles({"a": "A"})
    found = run_json("import", first, "--store", second)
    assert (found["ratings"], found["new"], found["titles"]) == (2, 2, 1)
    with open_store(first) as one, open_store(second) as other:
        assert one.page() == other.page()
        assert one.titles() == other.titles()
    assert run_json("import", second, "--store", first)["unchanged"] == 2


def test_an_export_of_ids_of_both_kinds_is_imported_again(
    run: Run, run_json: RunJson, tmp_path: Path
) -> None:
    with open_store(tmp_path / "a.db") as store:
        store.put([(user, item, 3, 10) for user in range(3) for item in range(2)])
        store.put([("guest-1", 1, 5, 20)])
        before = store.page().ratings
    exported = tmp_path / "ratings.csv"
    assert run("export", "--store", tmp_path / "a.db", "--out", exported).exit_code == 0
    found = run_json("import", exported, "--store", tmp_path / "a.db")
    assert (found["new"], found["changed"], found["unchanged"]) == (0, 0, 7)
    with open_store(tmp_path / "a.db") as store:
        assert store.page().ratings == before
    again = run("export", "--store", tmp_path / "a.db", "--out", tmp_path / "b.csv")
    assert again.exit_code == 0
    assert (tmp_path / "b.csv").read_text() == exported.read_text()


def test_what_cannot_be_read_makes_no_store(refused: Refused, tmp_path: Path) -> None:
    store = tmp_path / "ratings.db"
    bad = tmp_path / "bad.csv"
    for content, said in {
        "user,item,rating\n1,2,good\n": "row 2: rating 'good'",
        f"user,item,rating\n{'x' * 300},2,3\n": "user_id",
    }.items():
        bad.write_text(content)
        assert said in refused("import", bad, "--store", store)[0]
        assert list(tmp_path.iterdir()) == [bad]
    refused("import", tmp_path / "none.csv", "--store", store)
    refused("import", f"sqlite:///{tmp_path}/none.db", "--store", store)
    assert list(tmp_path.iterdir()) == [bad]


def test_titles_that_cannot_be_kept_make_no_store(
    refused: Refused, data: Path, tmp_path: Path
) -> None:
    source = shutil.copytree(data, tmp_path / "in")
    (source / "movies.csv").write_text(f"movieId,title\n100,{'x' * 3000}\n")
    assert "title" in refused("import", source, "--store", tmp_path / "ratings.db")[0]
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("mysql://ann:hidden@host/films", "is not the address of a store"),
        ("{folder}/missing/ratings.db", "is not a folder"),
        ("{folder}", "is a folder"),
        ("postgresql://ann:hidden@/films?host={folder}", "cannot be used"),
        ("postgresql://ann:hid@den@/films", "invalid address"),
    ],
)
def test_what_is_no_store(
    refused: Refused, data: Path, tmp_path: Path, store: str, said: str
) -> None:
    address = store.format(folder=tmp_path)
    for call in (
        ("import", data, "--store", address),
        ("export", "--store", address, "--out", tmp_path / "out.csv"),
    ):
        lines = refused(*call)
        assert said in lines[0]
        assert "hid" not in " ".join(lines)
    assert not list(tmp_path.iterdir())


def test_the_database_of_another_program(refused: Refused, data: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.db"
    mine.write_bytes(b"precious" * 1000)
    lines = refused("import", data, "--store", mine)
    assert "file is not a database" in lines[0]
    assert mine.read_bytes() == b"precious" * 1000
