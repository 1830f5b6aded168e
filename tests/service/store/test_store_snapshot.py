"""All ratings of one moment."""

from pathlib import Path

import polars as pl
import pytest

from evichain.errors import DataError
from evichain.ratings import Side
from evichain.ratings.graph import Graph
from evichain.service.store import Store, open_store, queries, session
from evichain.service.store.packing import pack


def test_nothing_written_later_is_in_it(store: Store) -> None:
    store.put([(1, item, 1) for item in range(5)])
    store.put_titles({0: "Zero"})
    with store.snapshot() as snapshot:
        store.put([(2, 1, 5)])
        store.erase(1)
        store.put_titles({0: None})
        assert snapshot.version == 6
        assert snapshot.counts() == (5, 1, 5, 1)
        assert sum(len(frame) for frame in snapshot.frames()) == 5
        assert snapshot.titles() == {0: "Zero"}
    # From its version on, the log tells the rest.
    kinds = [type(change).__name__ for change in store.changes_since(6).changes]
    assert kinds == ["Rated", "Erased", "Titled"]


def test_integers_stay_integers_and_text_stays_text(store: Store) -> None:
    store.put([(7, "a", 3.5, 10), (-8, "b", 2, 20)])
    store.put_titles({"a": "A", 1: "not rated"})
    with store.snapshot() as snapshot:
        ratings = snapshot.ratings()
    assert dict(ratings.frame.schema) == {
        "user_id": pl.Int64,
        "item_id": pl.String,
        "rating": pl.Float32,
        "timestamp": pl.Int64,
    }
    assert sorted(ratings.frame.rows()) == [(-8, "b", 2.0, 20), (7, "a", 3.5, 10)]
    assert ratings.titles is not None
    assert dict(ratings.titles.iter_rows()) == {"a": "A", "1": "not rated"}
    graph = Graph.build(ratings)
    assert (len(graph), graph.title("a")) == (2, "A")


def test_titles_that_cannot_be_of_any_item_are_out(store: Store) -> None:
    store.put([("u", 1, 3)])
    store.put_titles({1: "One", "x": "X"})
    with store.snapshot() as snapshot:
        ratings = snapshot.ratings()
        assert snapshot.title_table().sort("title").rows() == [("1", "One"), ("x", "X")]
    assert ratings.titles is not None
    assert ratings.titles.rows() == [(1, "One")]
    assert Graph.build(ratings).title(1) == "One"


def test_a_side_of_both_kinds_becomes_text(store: Store) -> None:
    store.put([(1, 5, 1), ("x", 5, 2)])
    frame = pl.concat(store.scan())
    assert frame.schema["user_id"] == pl.String
    assert frame.schema["item_id"] == pl.Int64
    assert sorted(frame["user_id"].to_list()) == ["1", "x"]


@pytest.mark.parametrize("side", Side)
def test_two_who_would_become_one_are_refused(store: Store, side: Side, tmp_path: Path) -> None:
    users: list[tuple[int | str, int | str]] = [(1, 5), ("1", 6)]
    ids = users if side is Side.USER else [(item, user) for user, item in users]
    store.put([(user, item, 1) for user, item in ids[:1]])
    with store._write_transaction() as session:  # as an earlier version would have
        session.change(queries.PUT, [*pack(ids[1][0]), *pack(ids[1][1]), 1.0, None, 2])
    with (
        store.snapshot() as snapshot,
        pytest.raises(DataError, match="1 and '1' differ only in type"),
    ):
        list(snapshot.frames())
    with (
        pytest.raises(DataError, match="1 and '1' differ only in type"),
        open_store(tmp_path / "b.db") as other,
    ):
        other.import_store(store)
    store.erase(ids[0][0])
    assert len(pl.concat(store.scan())) == 1


def test_times_are_in_the_table_if_all_have_one(store: Store) -> None:
    store.put([(1, 1, 1, 10), (1, 2, 1)])
    with store.snapshot() as snapshot:
        assert "timestamp" not in snapshot.ratings().frame.columns
        (frame,) = snapshot.frames()
        assert sorted(frame["timestamp"].to_list(), key=str) == [10, None]


def test_an_empty_store_has_an_empty_table(store: Store) -> None:
    with store.snapshot() as snapshot:
        assert list(snapshot.frames()) == []
        assert len(snapshot.ratings()) == 0
        assert snapshot.ratings().titles is None
    assert list(store.scan()) == []


def test_a_scan_comes_in_slices_and_may_be_left(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("sqlite", "postgres"):
        monkeypatch.setattr(f"evichain.service.store.{module}.SLICE", 3)
    assert session.SLICE > 3
    store.put([(1, item, item) for item in range(10)])
    assert [len(frame) for frame in store.scan()] == [3, 3, 3, 1]
    for _ in range(40):  # more often than there are connections
        with store.snapshot() as snapshot:
            next(snapshot.frames())
            next(snapshot.frames(in_order=True))
    scan = store.scan()
    next(scan)
    scan.close()
    store.put([(1, 1, 7)])
    assert [len(frame) for frame in store.scan()] == [3, 3, 3, 1]


def test_in_the_order_in_which_they_came(store: Store) -> None:
    store.put([(3, 1, 1), (1, 1, 1), (2, 1, 1)])
    store.put([(3, 1, 2), (0, 1, 1)])
    with store.snapshot() as snapshot:
        frame = pl.concat(snapshot.frames(in_order=True))
    assert frame["user_id"].to_list() == [1, 2, 3, 0]
