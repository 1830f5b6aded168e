"""What is particular to a store in a file."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from evichain.errors import StoreError, StoreUnavailableError
from evichain.service.store import Store, open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ratings.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with open_store(path) as opened:
        yield opened


def test_every_connection_syncs_what_it_writes(store: Store) -> None:
    with store._single_reads() as one, store._write_transaction() as other:
        for session in (one, other):
            assert session.rows("PRAGMA journal_mode") == [("wal",)]
            assert session.rows("PRAGMA synchronous") == [(2,)]  # FULL
            assert session.rows("PRAGMA secure_delete") == [(1,)]


def test_nothing_of_an_erased_user_is_left_in_the_file(store: Store, path: Path) -> None:
    names = [f"person-number-{number}" for number in range(50)]
    store.put([(name, f"thing-{name}", 4) for name in names])
    checkpoint(path)
    assert b"thing-person-number-7" in path.read_bytes()
    for name in names:
        store.erase(name)
    store.trim(store.version() + 1)
    checkpoint(path)
    held = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"person-number" not in held


def checkpoint(path: Path) -> None:
    """Bring the write-ahead log into the file, as SQLite does from time to time."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def test_places_where_no_store_can_be(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("This is no database, but it is long enough to be one. " * 20)
    (tmp_path / "folder").mkdir()
    for path, said in {
        "missing/ratings.db": "missing: is not a folder",
        "folder": "is a folder",
        "text": "file is not a database",
        "text/ratings.db": "is not a folder",
        "x" * 300: "cannot be a file",
    }.items():
        with pytest.raises(StoreError, match=said) as caught:
            open_store(tmp_path / path)
        assert str(tmp_path) in str(caught.value) or "…" in str(caught.value)
    with pytest.raises(StoreError, match="four slashes"):
        open_store(f"sqlite://{tmp_path}/ratings.db")
    assert {path.name for path in tmp_path.iterdir()} == {"text", "folder"}


def test_without_create_no_file_is_made(path: Path) -> None:
    with pytest.raises(StoreError, match="no such store"):
        open_store(path, create=False)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match="not a store of ratings"):
        open_store(path, create=False)
    with open_store(path) as store:
        assert store.version() == 0


def test_the_database_of_another_program_is_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is not a store of ratings"):
        open_store(path)
    assert path.read_bytes() == before
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE mine")
        connection.execute("PRAGMA application_id = 77")
    connection.close()
    with pytest.raises(StoreError, match="is not a store of ratings"):
        open_store(path)


def test_a_damaged_file_is_said_to_be_one(store: Store, path: Path) -> None:
    store.put([(user, item, 1) for user in range(50) for item in range(50)])
    store.close()
    content = bytearray(path.read_bytes())
    content[8192:] = bytes(len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="malformed"), open_store(path) as damaged:
        list(damaged.scan())


def test_a_file_that_was_moved_away_is_missed_and_found_again(store: Store, path: Path) -> None:
    store.put([(1, 1, 1)])
    path.rename(path.with_name("away"))
    with pytest.raises(StoreUnavailableError, match="no longer the file that was opened"):
        store.put([(1, 2, 1)])
    path.write_text("something else")
    for call in (store.version, lambda: store.delete([(1, 1)]), lambda: next(store.scan())):
        with pytest.raises(StoreUnavailableError, match="no longer the file that was opened"):
            call()
    assert path.read_text() == "something else"
    path.with_name("away").replace(path)
    store.put([(1, 3, 1)])
    assert [rating.item for rating in store.page().ratings] == [1, 3]


def test_an_sqlite_that_is_too_old(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 1))
    with pytest.raises(StoreError, match=r"needs SQLite 3\.37"):
        open_store(path)
    assert not path.exists()


def test_a_full_disk_is_told_and_overcome(store: Store) -> None:
    with store._single_reads() as session:
        pages = session.rows("PRAGMA page_count")[0][0]
    connect = store._connect  # type: ignore[attr-defined]

    def small() -> sqlite3.Connection:
        connection: sqlite3.Connection = connect()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    store._pool._idle.clear()  # type: ignore[attr-defined]
    store._pool._connect = small  # type: ignore[attr-defined]
    many = [(user, item, 1) for user in range(50) for item in range(50)]
    with pytest.raises(StoreUnavailableError, match="full"):
        store.put(many)
    assert store.counts().ratings == 0
    store._pool.close()  # type: ignore[attr-defined]
