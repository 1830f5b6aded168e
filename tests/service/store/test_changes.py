"""The log: every change once, in the order of the commits, for as long as it is kept."""

import threading
from collections.abc import Callable

import pytest

from evichain.errors import DataError, StaleVersionError
from evichain.service.store import (
    Changes,
    Erased,
    Rated,
    Store,
    Titled,
    Unrated,
    change_log,
    open_store,
)
from evichain.service.store.base import Store as Base


def test_what_happened_is_told_in_order(store: Store) -> None:
    store.put([("ann", 1, 4, 50), ("bob", "x", 2.5)])
    store.put_titles({1: "One"})
    store.put([("ann", 1, 5, 60)])
    store.delete([("bob", "x")])
    store.put_titles({1: None})
    assert store.changes_since(0) == Changes(
        [
            Rated(1, "ann", 1, 4.0, 50),
            Rated(2, "bob", "x", 2.5, None),
            Titled(3, 1, "One"),
            Rated(4, "ann", 1, 5.0, 60),
            Unrated(5, "bob", "x"),
            Titled(6, 1, None),
        ],
        6,
    )
    assert store.changes_since(6) == Changes([], 6)


def test_in_parts(store: Store) -> None:
    store.put([(1, item, 1) for item in range(5)])
    versions, version = [], 0
    while (found := store.changes_since(version, 2)).changes:
        versions += [change.version for change in found.changes]
        version = found.version
        assert version == versions[-1]
    assert versions == [1, 2, 3, 4, 5]


def test_what_changes_nothing_is_no_change(store: Store) -> None:
    store.put([(1, 1, 3.7, 5)])
    store.put([(1, 1, 3.7, 5)])
    store.delete([(2, 2)])
    store.put_titles({1: None})
    store.erase("nobody")
    found = store.changes_since(0)
    assert found.changes == [Rated(1, 1, 1, 3.7, 5)]
    # There is nothing to wait for either.
    assert found.version == store.version()


def test_an_erased_user_is_in_no_earlier_change(store: Store) -> None:
    store.put([("ann", 1, 4), ("bob", 1, 2)])
    store.delete([("ann", 1)])
    store.erase("ann")
    assert store.changes_since(0).changes == [Rated(2, "bob", 1, 2.0, None), Erased(4, "ann")]
    store.put([("ann", 2, 1)])
    assert store.changes_since(4).changes == [Rated(5, "ann", 2, 1.0, None)]


def test_what_a_reader_has_not_seen_yet_is_undone_by_the_erasure(store: Store) -> None:
    store.put([("ann", 1, 4)])
    seen = store.version()
    store.delete([("ann", 1)])
    assert store.erase("ann") == 0
    assert store.changes_since(seen).changes == [Erased(3, "ann")]


def test_nothing_of_an_erased_user_is_in_any_table(store: Store) -> None:
    store.put([("ann-the-unique", 777_000_111, 4, 555_000_222), ("bob", 1, 1)])
    store.erase("ann-the-unique")
    with store._single_reads() as session:
        held = [
            str(row)
            for table in ("ratings", "titles", "changes", "state")
            for row in session.rows(f"SELECT * FROM evichain_{table}")
        ]
    assert [row for row in held if "ann-the-unique" in row] == [row for row in held if "era" in row]
    assert not [row for row in held if "777000111" in row or "555000222" in row]
    store.trim(store.version() + 1)
    with store._single_reads() as session:
        assert session.rows("SELECT * FROM evichain_changes") == []


def test_a_reader_behind_the_trimmed_log_is_told_to_start_again(store: Store) -> None:
    store.put([(1, item, 1) for item in range(6)])
    store.trim(4)
    assert [change.version for change in store.changes_since(3).changes] == [4, 5, 6]
    for version in (0, 2):
        with pytest.raises(StaleVersionError, match=f"no changes since version {version}, only"):
            store.changes_since(version)
    # The log does not grow back.
    store.trim(2)
    with pytest.raises(StaleVersionError):
        store.changes_since(2)
    store.trim(10**12)
    assert store.changes_since(6) == Changes([], 6)
    store.put([(1, 7, 1)])
    assert [change.version for change in store.changes_since(6).changes] == [7]


def test_a_version_that_never_was(store: Store) -> None:
    with pytest.raises(StaleVersionError):
        store.changes_since(1)
    for version in (-1, "1", 2**70):
        with pytest.raises(DataError, match="version"):
            store.changes_since(version)  # type: ignore[arg-type]


def test_the_log_keeps_to_a_bound_by_itself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "KEPT", 20)
    monkeypatch.setattr(change_log, "SLACK", 10)
    for item in range(100):
        store.put([(1, item, 1)])
    with pytest.raises(StaleVersionError):
        store.changes_since(60)
    assert [change.version for change in store.changes_since(80).changes] == list(range(81, 101))
    with store._single_reads() as session:
        assert session.rows("SELECT count(*) < 30 FROM evichain_changes")[0][0]


def test_a_transaction_that_commits_late_is_not_overtaken(store: Store, url: str) -> None:
    began, wrote = threading.Event(), threading.Event()

    def late() -> None:
        with open_store(url) as other:
            began.wait()
            other.put([("late", 1, 1)])
            wrote.set()

    thread = threading.Thread(target=late)
    thread.start()
    with store._write_transaction() as session:
        version, _ = session.advance(1)
        began.set()
        # Long enough for the other to have written, if it did not wait.
        assert not wrote.wait(0.3)
        assert store.changes_since(0) == Changes([], 0)
        session.change(
            "INSERT INTO evichain_changes (version, kind, user_text, user_number) "
            "VALUES (?, 'erased', 'early', 0)",
            [version],
        )
    thread.join()
    assert store.changes_since(0).changes == [Erased(1, "early"), Rated(2, "late", 1, 1.0, None)]


def test_a_failed_transaction_leaves_no_version(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store._write_transaction() as session:
        session.advance(1 // (session.advance(5)[0] - 5))
    assert store.version() == 0
    store.put([(1, 1, 1)])
    assert store.version() == 1


def test_waiting_ends_when_something_comes(store: Store, url: str) -> None:
    assert store.wait(0, 0.01) == 0
    with open_store(url) as other:
        for expected, wait in enumerate([store.wait, _polling(store)], start=1):
            timer = threading.Timer(0.2, other.put, [[(1, expected, 1)]])
            timer.start()
            assert wait(expected - 1, 60) == expected
            timer.join()
            assert wait(expected - 1, 60) == expected


def test_several_threads_wait_at_once(store: Store) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(store.wait(0, 60))) for _ in range(4)]
    for thread in threads:
        thread.start()
    store.put([(1, 1, 1)])
    for thread in threads:
        thread.join()
    assert found == [1] * 4


def _polling(store: Store) -> Callable[[int, float], int]:
    """How a store waits that has no better way."""
    return lambda version, timeout: Base.wait(store, version, timeout)
