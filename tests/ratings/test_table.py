"""The ratings table from arrays and frames."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evichain.errors import DataError
from evichain.ratings import Ratings

pairs = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3), st.integers(1, 5)),
    min_size=1,
)


@given(pairs)
def test_the_latest_of_a_pair_wins(rows: list[tuple[int, int, int, int]]) -> None:
    users, items, times, values = zip(*rows, strict=True)
    ratings = Ratings.from_arrays(users, items, values, times)
    expected: dict[tuple[int, int], tuple[int, int]] = {}
    for user, item, time, value in rows:
        if time >= expected.get((user, item), (-1, 0))[0]:
            expected[user, item] = (time, value)
    found = {(u, i): (t, v) for u, i, v, t in ratings.frame.iter_rows()}
    assert found == expected
    assert ratings.duplicates == len(rows) - len(expected)


@given(pairs)
def test_without_times_the_later_row_wins(rows: list[tuple[int, int, int, int]]) -> None:
    users, items, _, values = zip(*rows, strict=True)
    ratings = Ratings.from_arrays([f"u{user}" for user in users], items, values)
    expected = {(f"u{u}", i): v for u, i, _, v in rows}
    assert {(u, i): v for u, i, v in ratings.frame.iter_rows()} == expected


def test_columns_and_types() -> None:
    ratings = Ratings.from_arrays(np.array([1, 2]), ["a", "b"], [1, 2], [10, 20], name="mine")
    assert ratings.frame.schema == {
        "user_id": pl.Int64,
        "item_id": pl.String,
        "rating": pl.Float32,
        "timestamp": pl.Int64,
    }
    assert (len(ratings), ratings.mean, ratings.name) == (2, 1.5, "mine")
    assert repr(ratings) == "<Ratings mine: 2 rows>"


class Columns:
    """A table like pandas': `columns`, and per column something with `to_numpy`."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = {n: np.array(c, dtype=object) for n, c in columns.items()}
        self.columns = list(columns)

    def __getitem__(self, name: str) -> pl.Series:
        return pl.Series(self._columns[name].tolist())


@pytest.mark.parametrize(
    "frame",
    [
        {"userId": [1, 2], "movieId": ["007", "8"], "Value": [3, 4]},
        pl.DataFrame({"UserID": [1, 2], "item": ["007", "8"], "stars": [3.0, 4.0], "x": [0, 0]}),
        pl.LazyFrame({"user": [1.0, 2.0], "product": ["007", "8"], "score": ["3", " 4 "]}),
        Columns(user=[1, 2], itemID=["007", "8"], rating=[3, 4]),
    ],
)
def test_frames_of_every_kind(frame: Any) -> None:
    ratings = Ratings.from_frame(frame)
    assert ratings.frame.rows() == [(1, "007", 3.0), (2, "8", 4.0)]


def test_categories_and_unsigned_ids() -> None:
    frame = pl.DataFrame(
        {
            "user": pl.Series([1, 2], dtype=pl.UInt8),
            "item": pl.Series(["a", "b"], dtype=pl.Categorical),
            "rating": pl.Series([1, 2], dtype=pl.Int8),
        }
    )
    assert Ratings.from_frame(frame).frame.rows() == [(1, "a", 1.0), (2, "b", 2.0)]


def test_an_integer_column_with_a_gap_and_an_id_beyond_64_bits() -> None:
    users = pl.Series([2**63 + 1, None], dtype=pl.UInt64)
    with pytest.raises(DataError, match="row 2: user_id is missing"):
        Ratings.from_arrays(users, [1, 2], [1, 2])
    ratings = Ratings.from_arrays(np.array([2**63 + 1, 5], np.uint64), [1, 2], [1, 2])
    assert ratings.frame["user_id"].to_list() == ["9223372036854775809", "5"]


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ([881250949, 0], [881250949, 0]),
        ([881250949.5, 1.0], [881250949, 1]),
        ([1_600_000_000_123, 1_600_000_001_000], [1_600_000_000, 1_600_000_001]),
        (["1970-01-02", "1970-01-03 00:00:01"], [86400, 172801]),
        (["1970-01-01T00:01:00Z", "1970-01-01T00:00:01.5+00:00"], [60, 1]),
        (pl.Series([86400_000, 0]).cast(pl.Datetime("ms")), [86400, 0]),
    ],
)
def test_times_become_seconds(times: Any, seconds: list[int]) -> None:
    ratings = Ratings.from_arrays([1, 2], [1, 1], [1, 1], times)
    assert ratings.frame["timestamp"].to_list() == seconds


@pytest.mark.parametrize(
    "times",
    [
        pl.Series([900, 100]).cast(pl.Datetime("ms")),
        ["2026-01-31T00:00:00.9Z", "2026-01-31T00:00:00.1Z"],
        [1_600_000_000_900, 1_600_000_000_100],
    ],
    ids=["datetimes", "text", "milliseconds"],
)
def test_of_two_ratings_within_a_second_the_later_wins(times: Any) -> None:
    ratings = Ratings.from_arrays([1, 1], [1, 1], [5, 2], times)
    assert ratings.frame["rating"].to_list() == [5]


@pytest.mark.parametrize(
    "times",
    [
        [None, 7, None, 9],
        np.array([np.nan, 7, np.nan, 9]),
        ["", "7", None, " 9 "],
        [None, "1970-01-01T00:00:07", "", "1970-01-01 00:00:09.25"],
        pl.Series([None, 7000, None, 9000]).cast(pl.Datetime("ms")),
    ],
    ids=["numbers", "floats", "text", "dates as text", "dates"],
)
def test_a_time_that_is_not_known_comes_before_all_others(times: Any) -> None:
    ratings = Ratings.from_arrays([1, 2, 2, 1], [1, 1, 1, 2], [1, 5, 2, 3], times)
    assert ratings.frame.rows() == [(1, 1, 1.0, None), (2, 1, 5.0, 7), (1, 2, 3.0, 9)]


def test_take_by_mask_and_by_index() -> None:
    ratings = Ratings.from_arrays([1, 2, 3], [1, 1, 1], [1, 2, 3])
    assert ratings.take([True, False, True]).frame["user_id"].to_list() == [1, 3]
    assert ratings.take(np.array([2, 0])).frame["user_id"].to_list() == [3, 1]
    assert len(ratings.take(pl.Series([False] * 3))) == 0


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (([1, 2], [1, 2], [1.0, float("nan")]), "row 2: rating nan is not a finite number"),
        (([1, 2], [1, 2], [float("inf"), 1]), "row 1: rating inf"),
        (([1, 2], [1, 2], [1e300, 1]), "row 1: rating 1e+300"),
        (([1, 2], [1, 2], [1, None]), "row 2: rating is missing"),
        (([1, None], [1, 2], [1, 2]), "row 2: user_id is missing"),
        ((["", "a"], [1, 2], [1, 2]), "row 1: user_id is missing"),
        (([1, 2], [1.0, 1.5], [1, 2]), "row 2: item_id 1.5 is not an id"),
        (([1, 2], [True, False], [1, 2]), "item_id has type Boolean"),
        (([1, 2], [1, 2], [[1], [2]]), "rating has type List"),
        (([1, 2], [1, 2], [1]), "not a table of ratings"),
        (([1, "a"], [1, 2], [1, 2]), "not a table of ratings"),
        (([], [], []), "no ratings in it"),
    ],
)
def test_what_cannot_be_a_table(columns: tuple[Any, ...], said: str) -> None:
    with pytest.raises(DataError) as caught:
        Ratings.from_arrays(*columns, name="mine")
    assert str(caught.value).startswith("mine")
    assert said in str(caught.value)
    assert caught.value.right


def test_a_missing_column_is_named_with_those_found() -> None:
    with pytest.raises(DataError, match="no column for item_id among 'user', 'thing', 'rating'"):
        Ratings.from_frame({"user": [1], "thing": [1], "rating": [1]})
