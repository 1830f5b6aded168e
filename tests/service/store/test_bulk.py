"""Tables in and out: imports, copies from store to store, exports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evichain.errors import DataError, StaleVersionError, StoreUnavailableError
from evichain.ratings import Ratings, Side, load_ratings
from evichain.service.store import LARGEST_BATCH, Rated, Rating, Store, Written, base, open_store
from evichain.service.store.store_snapshot import StoreSnapshot

names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20
)
MANY = LARGEST_BATCH + 2345


def table(rows: int, *, text: bool = False, seed: int = 0) -> Ratings:
    """Random ratings, in no order, some of them not exact in 32 bits."""
    noise = np.random.default_rng(seed)
    cells = noise.choice(200 * 150, rows, replace=False)
    users, items = cells // 150, cells % 150
    ratings = noise.choice([0.1, 1.0, 2.5, 3.7], rows)
    times = noise.integers(0, 2**40, rows)
    if text:
        names = [f'n"{user},\n;é\\.' for user in users]
        return Ratings.from_arrays(names, items, ratings)
    return Ratings.from_arrays(users, items, ratings, times)


@pytest.fixture(params=[False, True], ids=["numbers", "text"])
def many(request: pytest.FixtureRequest) -> Ratings:
    """More ratings than go into a batch."""
    return table(MANY, text=request.param)


def held(store: Store) -> pl.DataFrame:
    """Everything in a store, sorted."""
    with store.snapshot() as snapshot:
        return snapshot.ratings().frame.sort("user_id", "item_id")


def test_all_of_a_table_is_there_and_a_second_time_nothing_is_new(
    store: Store, many: Ratings
) -> None:
    assert store.import_ratings(many) == Written(MANY, 0, 0)
    assert held(store).equals(many.frame.sort("user_id", "item_id"))
    assert store.import_ratings(many) == Written(0, 0, MANY)
    assert held(store).equals(many.frame.sort("user_id", "item_id"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    rows=st.dictionaries(
        st.tuples(names, st.integers(-(2**63), 2**63 - 1)),
        st.floats(width=32, allow_nan=False, allow_infinity=False),
        min_size=1,
        max_size=8,
    )
)
def test_any_text_and_any_number_survive_bulk(store: Store, rows: dict[Any, float]) -> None:
    users, items = zip(*rows, strict=True)
    ratings = Ratings.from_arrays(users, items, list(rows.values()))
    before = store.counts().ratings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "LARGEST_BATCH", 0)
        assert sum(store.import_ratings(ratings)) == len(rows)
    for (user, item), rating in rows.items():
        found = store.get(user, item)
        assert found is not None
        assert np.float32(found.rating) == np.float32(rating)
    with store.snapshot() as snapshot:
        held = snapshot.ratings().frame.filter(pl.col("user_id").is_in(list(users)))
    assert {(row[0], row[1]): row[2] for row in held.iter_rows()}.items() >= rows.items()
    assert store.counts().ratings >= before


def test_what_a_table_changes_and_adds(store: Store) -> None:
    before, after = table(MANY), table(MANY, seed=1)
    store.import_ratings(before)
    pairs = ["user_id", "item_id"]
    new = after.frame.join(before.frame, on=pairs, how="anti")
    same = after.frame.join(before.frame, on=[*pairs, "rating", "timestamp"])
    changed = MANY - len(new) - len(same)
    assert store.import_ratings(after) == Written(len(new), changed, len(same))
    expected = pl.concat([before.frame, after.frame]).unique(pairs, keep="last")
    assert held(store).equals(expected.sort(pairs))


def test_a_small_table_goes_through_the_log(store: Store) -> None:
    store.put([(1, 1, 2)])
    ratings = Ratings.from_arrays([1, 1], [1, 2], [3.7, 4])
    assert store.import_ratings(ratings) == Written(1, 1, 0)
    assert store.changes_since(1).changes == [Rated(2, 1, 1, 3.7, None), Rated(3, 1, 2, 4.0, None)]


def test_after_a_large_table_readers_start_again(store: Store) -> None:
    store.put([(1, 1, 2)])
    store.import_ratings(table(MANY))
    with pytest.raises(StaleVersionError):
        store.changes_since(1)
    with store.snapshot() as snapshot:
        version = snapshot.version
    store.put([("new", 1, 2)])
    assert store.changes_since(version).changes == [Rated(version + 1, "new", 1, 2.0, None)]


def test_the_order_of_the_table_is_that_of_the_history(store: Store, many: Ratings) -> None:
    store.put([("first", 1, 1)])
    untimed = Ratings(many.frame.drop("timestamp", strict=False))
    store.import_ratings(untimed)
    store.put([("last", 1, 1)])
    some = untimed.frame.row(0)[0]
    expected = untimed.frame.filter(pl.col("user_id") == some)["item_id"].to_list()
    assert [rating.item for rating in store.ratings_of(Side.USER, some)] == expected
    raters = [rating.user for rating in store.ratings_of(Side.ITEM, 1)]
    assert (raters[0], raters[-1]) == ("first", "last")


def test_titles_come_along(store: Store) -> None:
    titles = pl.DataFrame({"item_id": [1, 2, 3], "title": ["One", "", "Three, “with” signs"]})
    for rows in (20, MANY):
        store.put_titles({1: "before"})
        ratings = table(rows)
        store.import_ratings(Ratings(ratings.frame, titles=titles))
        assert store.titles() == {1: "One", 3: "Three, “with” signs"}


def test_a_table_of_titles_larger_than_a_batch(store: Store) -> None:
    items = list(range(MANY))
    titles = pl.DataFrame({"item_id": items, "title": [f"Film {item}" for item in items]})
    assert store.import_ratings(Ratings(table(5).frame, titles=titles)) == Written(5, 0, 0)
    assert store.counts().titles == MANY


@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize("first", [True, False], ids=["integers first", "text first"])
def test_ids_keep_the_kind_that_they_have_in_the_store(
    store: Store, tmp_path: Path, bulk: bool, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bulk:
        monkeypatch.setattr(base, "LARGEST_BATCH", 0)
    numbers = Ratings.from_arrays([0, 1, -2], [5, 6, 7], [1.0, 2.0, 3.7])
    texts = Ratings.from_arrays(["0", "1", "-2"], ["5", "6", "7"], [1.0, 2.0, 4.0])
    there, again = (numbers, texts) if first else (texts, numbers)
    store.import_ratings(there)
    assert store.import_ratings(again) == Written(0, 1, 2)
    pairs = ["user_id", "item_id"]
    assert held(store).select(pairs).equals(there.frame.select(pairs).sort(pairs))
    with open_store(tmp_path / "other.db") as other:
        other.import_ratings(again)
        assert other.import_store(store) == Written(0, 0, 3)
        assert store.import_store(other) == Written(0, 0, 3)
    # Those that are new to the store stay as they come.
    new = Ratings.from_arrays(["0", "8", "007"], ["5", "9", "x"], [1.0, 1.0, 1.0])
    assert store.import_ratings(new) == Written(2, 0, 1)
    assert store.get("8", "9") is not None
    assert store.get("007", "x") is not None
    with store.snapshot() as snapshot:
        assert snapshot.ratings().frame["user_id"].n_unique() == 5


@pytest.mark.parametrize("bulk", [False, True])
def test_what_is_exported_with_both_kinds_and_imported_changes_nothing(
    store: Store, tmp_path: Path, bulk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put([(user, item, 3.7, user) for user in range(3) for item in range(4)])
    store.put([("guest-1", 2, 1, 9), (2, "a film", 5, 9)])
    store.put_titles({1: "One", "a film": "A film", 77: "Not rated"})
    before, titles, path = store.page(99).ratings, store.titles(), tmp_path / "ratings.csv"
    store.export(path, titles=tmp_path / "items.csv")
    if bulk:
        monkeypatch.setattr(base, "LARGEST_BATCH", 0)
    assert store.import_ratings(load_ratings(path)) == Written(0, 0, len(before))
    monkeypatch.undo()
    assert store.page(99).ratings == before
    assert store.titles() == titles
    store.export(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == path.read_text()


@pytest.mark.parametrize("rows", [10, MANY])
@pytest.mark.parametrize("bad", ["", "a\0b", "x" * 257])
def test_a_table_that_cannot_be_kept_leaves_nothing(store: Store, bad: str, rows: int) -> None:
    users = [f"user {number}" for number in range(rows)]
    users[rows // 2] = bad
    frame = pl.DataFrame({"user_id": users, "item_id": [1] * rows, "rating": [1.0] * rows})
    with pytest.raises(DataError, match="user_id"):
        store.import_ratings(Ratings(frame, name="mine"))
    nan = frame.with_columns(user_id=pl.int_range(rows), rating=pl.lit(float("nan")))
    with pytest.raises(DataError, match="not a finite number"):
        store.import_ratings(Ratings(nan))
    assert store.version() == 0


def test_an_import_that_breaks_off_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put([(1, 1, 1)])

    def breaking(*_: object) -> Iterator[pl.DataFrame]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("evichain.service.store.base.pack_ratings", breaking)
    with pytest.raises(KeyboardInterrupt):
        store.import_ratings(table(MANY))
    assert store.changes_since(0).changes == [Rated(1, 1, 1, 1.0, None)]
    assert store.counts().ratings == 1
    store.put([(2, 2, 2)])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".ndjson", ".jsonl"])
def test_what_is_exported_is_read_again(
    store: Store, many: Ratings, tmp_path: Path, suffix: str
) -> None:
    store.import_ratings(many)
    folder = tmp_path / "made" / "for it"
    path = folder / f"ratings{suffix}"
    assert store.export(path).ratings == MANY
    assert list(folder.iterdir()) == [path]
    # In the order in which they came, so that a history is the same when it is imported again.
    assert load_ratings(path).frame.equals(many.frame)


def test_titles_are_exported_where_the_core_looks_for_them(store: Store, tmp_path: Path) -> None:
    store.put([(1, 5, 3.7, 10), (2, 6, 4, 20)])
    store.put_titles({5: "Five, a film", 9: "Nobody's"})
    exported = store.export(tmp_path / "ratings.csv", titles=tmp_path / "items.csv")
    assert exported == (2, 0)
    found = load_ratings(tmp_path / "ratings.csv")
    assert found.frame.rows() == [(1, 5, pytest.approx(3.7), 10), (2, 6, 4.0, 20)]
    assert found.titles is not None
    assert dict(found.titles.iter_rows()) == {5: "Five, a film", 9: "Nobody's"}
    assert (tmp_path / "ratings.csv").read_text().splitlines()[1] == "1,5,3.7,10"


def test_times_can_be_left_out(store: Store, tmp_path: Path) -> None:
    store.put([(1, 1, 1, 10), (1, 2, 1)])
    assert store.export(tmp_path / "a.csv") == (2, 1)
    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == ["1,1,1.0,10", "1,2,1.0,"]
    assert store.export(tmp_path / "b.csv", timestamps=False) == (2, 1)
    assert load_ratings(tmp_path / "b.csv").frame.columns == ["user_id", "item_id", "rating"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson"])
def test_an_empty_store_is_exported_as_an_empty_table(
    store: Store, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"ratings{suffix}"
    assert store.export(path) == (0, 0)
    if suffix != ".ndjson":
        read = pl.read_csv(path) if suffix == ".csv" else pl.read_parquet(path)
        assert read.columns == ["user_id", "item_id", "rating", "timestamp"]


def test_an_export_that_breaks_off_leaves_what_was_there(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ratings.parquet"
    store.import_ratings(table(MANY))
    store.export(path)
    before = path.read_bytes()
    frames = StoreSnapshot.frames

    def breaking(self: StoreSnapshot, *, in_order: bool = False) -> Iterator[pl.DataFrame]:
        yield from frames(self, in_order=in_order)
        raise StoreUnavailableError("the server has gone away")

    monkeypatch.setattr(StoreSnapshot, "frames", breaking)
    with pytest.raises(StoreUnavailableError, match="gone away"):
        store.export(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path] or (tmp_path / "ratings.db").exists()
    assert not list(tmp_path.glob(".ratings*"))


def test_names_that_tell_no_format_and_places_that_are_none(store: Store, tmp_path: Path) -> None:
    for name in ("ratings.xlsx", "ratings"):
        with pytest.raises(DataError, match="format"):
            store.export(tmp_path / name)
    with pytest.raises(DataError, match="suffix"):
        store.export(tmp_path / "a.csv", titles=tmp_path / "titles")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        store.export(tmp_path / "file" / "a.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        store.export(tmp_path / "folder.csv")
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("other", ["sqlite", "postgres"])
def test_a_copy_holds_the_same(
    store: Store, other: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    odd = [(1, 1, 3.7), ("y", 1, 4, 5), (-(2**63), "é\n\"',", 0.1), ("x", 2**63 - 1, 1, -1)]
    store.put([(1, 2, 1), *odd])
    store.put([(1, 2, 5)])
    store.put_titles({1: "One", "1": "Text"})
    url = tmp_path / "copy.db"
    address = request.getfixturevalue("postgres").fresh() if other == "postgres" else url
    with open_store(address) as copy:
        copy.put([(1, 1, 2), ("kept", 1, 1)])
        assert copy.import_store(store) == Written(4, 1, 0)
        assert copy.page().ratings == sorted_with(store, Rating("kept", 1, 1.0))
        assert copy.titles() == store.titles()
        assert copy.ratings_of(Side.USER, 1) == store.ratings_of(Side.USER, 1)
        assert copy.version() == 2 + store.version()
        # Once more, and nothing changes.
        assert copy.import_store(store) == Written(0, 0, 5)


def sorted_with(store: Store, more: Rating) -> list[Rating]:
    ratings = [*store.page().ratings, more]
    return sorted(ratings, key=lambda r: [(isinstance(i, str), i) for i in r[:2]])


def test_a_copy_of_nothing(store: Store, tmp_path: Path) -> None:
    with open_store(tmp_path / "other.db") as other:
        assert store.import_store(other) == Written(0, 0, 0)
        assert other.import_store(store) == Written(0, 0, 0)
