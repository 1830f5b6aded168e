"""From columns of any type to a validated ratings table."""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import polars as pl

from evichain.errors import DataError
from evichain.ratings._columns import ITEM, RATING, TIMESTAMP, USER, resolve
from evichain.ratings._duplicates import drop_duplicates

ROW = "number of the row"
BLANKS = " \t"
"""What may stand beside an id in a text file and is no part of it."""

_SAMPLE = 1000
_WIDE = (pl.UInt64, pl.Int128, pl.UInt128)
_DATES = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_MICROSECONDS = 10**6
UNKNOWN_TIME = -(2**63)


@dataclass(frozen=True)
class RawTable:
    """A table as its source gives it, before anything is believed of it.

    Attributes:
        rows: its columns under their own names, and `ROW`, the number that a row has for people.
        where: the file, as said in messages.
        separator: what stands between the columns of a text file, where integers have to be
            recognized; empty for typed tables.
        quoted: whether quotes in a text file hold a column together, or are as any letter.
    """

    rows: pl.LazyFrame
    where: str
    separator: str = ""
    quoted: bool = True


def clean(table: RawTable) -> tuple[pl.DataFrame, int]:
    """The validated ratings of a table and the number of earlier duplicates that were dropped."""
    schema = table.rows.collect_schema()
    names = resolve((name for name in schema.names() if name != ROW), where=table.where)
    rows = table.rows.select(pl.col(name).alias(column) for column, name in names.items())
    types = {column: schema[name] for column, name in names.items()}
    frame = _typed(rows, types, table)
    if frame.is_empty():
        raise no_ratings(table)
    check(frame, table, names)
    frame, dropped = drop_duplicates(frame)
    if TIMESTAMP in frame.columns:
        dates = _are_dates(rows, types[TIMESTAMP], table.where)
        frame = _in_seconds(frame, _MICROSECONDS if dates else None)
    return frame, dropped


def no_ratings(table: RawTable) -> DataError:
    """A table without rows."""
    return DataError(
        "no ratings in it",
        where=table.where,
        right="Each row is one rating: user_id, item_id, rating and, if known, timestamp.",
    )


def expressions(
    rows: pl.LazyFrame, types: dict[str, pl.DataType], table: RawTable
) -> tuple[dict[str, pl.Expr], dict[str, pl.Expr]]:
    """Every column in its final type, null where it does not fit; and what to verify of ids.

    Where the second expression of a column of ids does not hold for all rows, they have to be
    taken as text instead.
    """
    exact: dict[str, pl.Expr] = {}
    whole: dict[str, pl.Expr] = {}
    sample = rows.head(_SAMPLE).collect() if table.separator else pl.DataFrame()
    for column in (USER, ITEM):
        as_is = exact[column] = _id(column, types[column], table)
        if table.separator:
            as_integer = as_is.cast(pl.Int64, strict=False)
            round_trip = (as_integer.cast(pl.String) == as_is).fill_null(False)
            if sample.select(round_trip.all()).item():
                exact[column], whole[column] = as_integer, round_trip
        elif types[column] in _WIDE:
            whole[column] = as_is.is_not_null() | pl.col(column).is_null()
    exact[RATING] = _number(RATING, types[RATING], table.where).cast(pl.Float32, strict=False)
    if TIMESTAMP in types:
        exact[TIMESTAMP] = _time(rows, types[TIMESTAMP], table.where)
    return exact, whole


def _typed(rows: pl.LazyFrame, types: dict[str, pl.DataType], table: RawTable) -> pl.DataFrame:
    """Collect with every column in its final type; what does not fit becomes null."""
    exact, whole = expressions(rows, types, table)
    # One pass: integers are tried first, and the ids come again as text if one does not come
    # back as it went in ("007", or 2**63 and above).
    checks = [check.alias(f"{column} whole") for column, check in whole.items()]
    frame = rows.select(*(e.alias(c) for c, e in exact.items()), *checks).collect(
        engine="streaming"
    )
    for column in whole:
        if not frame.drop_in_place(f"{column} whole").all():
            text = rows.select(as_text(column, table)).collect(engine="streaming")[column]
            frame = frame.with_columns(text.alias(column))
    # Column by column, so that the chunks of one are free before the next is copied.
    return pl.DataFrame([frame.drop_in_place(column).rechunk() for column in exact])


def as_text(column: str, table: RawTable) -> pl.Expr:
    """Ids as text; blanks beside a comma belong to the file and not to the id."""
    text = pl.col(column).cast(pl.String, strict=False)
    return text.str.strip_chars(BLANKS) if table.separator else text


def _id(column: str, dtype: pl.DataType, table: RawTable) -> pl.Expr:
    value = pl.col(column)
    if dtype.is_integer():
        return value.cast(pl.Int64, strict=False)
    if dtype.is_numeric():
        # Tables that once had gaps carry whole numbers as floats.
        whole = value.cast(pl.Float64).cast(pl.Int64, strict=False)
        return pl.when(whole == value).then(whole)
    if dtype == pl.String or isinstance(dtype, (pl.Categorical, pl.Enum, pl.Binary, pl.Null)):
        return as_text(column, table)
    raise DataError(
        f"column {column} has type {dtype}", where=table.where, right="Ids are integers or strings."
    )


def _number(column: str, dtype: pl.DataType, where: str) -> pl.Expr:
    value = pl.col(column)
    if dtype.is_numeric() or dtype == pl.Null:
        return value
    if dtype == pl.String:
        return value.str.strip_chars().cast(pl.Float64, strict=False)
    raise DataError(
        f"column {column} has type {dtype}", where=where, right=f"A {column} is a number."
    )


def _time(rows: pl.LazyFrame, dtype: pl.DataType, where: str) -> pl.Expr:
    """Times as numbers, dates in microseconds: so that of two within a second the later is told.

    Where none is given, it is `UNKNOWN_TIME`, which comes before all others.
    """
    value = pl.col(TIMESTAMP)
    if not _are_dates(rows, dtype, where):
        time = _number(TIMESTAMP, dtype, where).cast(pl.Int64, strict=False)
    elif dtype != pl.String:
        time = value.dt.epoch("us")
    else:
        text = value.str.strip_chars().str.replace(r"(Z|\+00:00)$", "")
        dates = (text.str.to_datetime(form, strict=False, time_unit="us") for form in _DATES)
        time = pl.coalesce(date.dt.epoch("us") for date in dates)
    return pl.when(_is_given(dtype)).then(time).otherwise(pl.lit(UNKNOWN_TIME))


def _is_given(dtype: pl.DataType) -> pl.Expr:
    """Whether there is a time: pandas has NaN where there is none, and text nothing at all."""
    value = pl.col(TIMESTAMP)
    if dtype == pl.String:
        return (value.str.strip_chars() != "").fill_null(False)
    return (value.is_not_nan() if dtype.is_float() else value.is_not_null()).fill_null(False)


def _are_dates(rows: pl.LazyFrame, dtype: pl.DataType, where: str) -> bool:
    """Whether times are dates, not numbers; of text the first ones tell."""
    if dtype != pl.String:
        return isinstance(dtype, (pl.Date, pl.Datetime))
    number = _number(TIMESTAMP, dtype, where).cast(pl.Int64, strict=False)
    first = rows.filter(_is_given(dtype)).head(_SAMPLE)
    return bool(first.select(number.is_null().all()).collect().item())


def check(frame: pl.DataFrame, table: RawTable, names: dict[str, str], first: int = 0) -> None:
    """Refuse typed rows that are no ratings; the first of them is row `first` of the table."""

    def fail(bad: pl.Series, column: str, what: str, right: str) -> NoReturn:
        place = bad.arg_max()
        assert place is not None
        _fail(first + place, column, table, names, what, right)

    for column in (USER, ITEM):
        values = frame[column]
        bad = values.is_null()
        if values.dtype == pl.String:
            bad |= values == ""
        if bad.any():
            fail(bad, column, f"{column} {{}} is no id", "Ids are text or integers.")
    bad = ~frame[RATING].is_finite().fill_null(False)
    if bad.any():
        right = "A rating is a finite number, such as 4 or 3.5."
        fail(bad, RATING, "rating {} is no finite number", right)
    if TIMESTAMP in frame.columns:
        bad = frame[TIMESTAMP].is_null()
        if bad.any():
            right = "It is seconds since 1970, a date like 2026-01-31, or nothing."
            fail(bad, TIMESTAMP, "timestamp {} is no time", right)


def _fail(
    position: int, column: str, table: RawTable, names: dict[str, str], what: str, right: str
) -> NoReturn:
    """Go back to the source for the row's number and for what stands there."""
    raw = table.rows.select(ROW, names[column]).slice(position, 1).collect()
    row: dict[str, Any] = raw.row(0, named=True)
    value = row[names[column]]
    if value is None or (isinstance(value, str) and not value.strip()):
        what = f"{column} is missing"
    said = repr(value)
    raise DataError(
        what.format(said if len(said) <= 40 else f"{said[:39]}…"),
        where=f"{table.where}, row {row[ROW]}",
        right=right,
    )


def _in_seconds(frame: pl.DataFrame, a_second: int | None) -> pl.DataFrame:
    """Times in seconds, null where there is none; without the column where there is none at all.

    Args:
        a_second: what times count to in a second; None where their size has to tell: as seconds,
            1e11 is the year 5138.
    """
    known = frame[TIMESTAMP].replace(UNKNOWN_TIME, None)
    if known.null_count() == len(known):
        return frame.drop(TIMESTAMP)
    if a_second is None:
        typical = abs(float(np.median(known.drop_nulls().to_numpy())))
        a_second = next((10**n for n in (9, 6, 3) if typical >= 10.0 ** (8 + n)), 1)
    return frame.with_columns(known // a_second)
