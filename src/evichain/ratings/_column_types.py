"""The columns of a raw table in their final types: ids, numbers, weights of events, times."""

import polars as pl

from evichain.errors import DataError
from evichain.ratings._raw_table import BLANKS, RawTable
from evichain.ratings.columns import EVENT, ITEM, RATING, TIMESTAMP, USER, WEIGHT

_SAMPLE = 1000
_WIDE = (pl.UInt64, pl.Int128, pl.UInt128)
_DATES = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
UNKNOWN_TIME = -(2**63)


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
            round_trip = (as_integer.cast(pl.String) == as_is).fill_null(as_is.is_null())
            if sample.select(round_trip.all()).item():
                exact[column], whole[column] = as_integer, round_trip
        elif types[column] in _WIDE:
            whole[column] = as_is.is_not_null() | pl.col(column).is_null()
    if RATING in types:
        exact[RATING] = _number(RATING, types[RATING], table.where).cast(pl.Float32, strict=False)
    if EVENT in types:
        exact[EVENT] = _event_weight(types[EVENT], table)
    if WEIGHT in types:
        exact[WEIGHT] = _number(WEIGHT, types[WEIGHT], table.where).cast(pl.Float32, strict=False)
    if TIMESTAMP in types:
        exact[TIMESTAMP] = _time(rows, types[TIMESTAMP], table.where)
    return exact, whole


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
    right = f"A {column} is a number."
    if dtype == pl.Boolean and column == RATING:
        right += " If it only says that something happened, drop the column and the false rows."
    raise DataError(f"column {column} has type {dtype}", where=where, right=right)


def event_type(dtype: pl.DataType, table: RawTable) -> pl.Expr:
    """Types of events as text, null where there is none."""
    if isinstance(dtype, (pl.List, pl.Array, pl.Struct, pl.Object)):
        raise DataError(
            f"column {EVENT} has type {dtype}",
            where=table.where,
            right="An event type is text or an integer.",
        )
    text = as_text(EVENT, table)
    return pl.when(text != "").then(text)


def _event_weight(dtype: pl.DataType, table: RawTable) -> pl.Expr:
    event = event_type(dtype, table)
    if table.events is None:
        return pl.when(event.is_not_null()).then(pl.lit(1.0, pl.Float32))
    weights = dict(table.events)
    return event.replace_strict(weights, default=None, return_dtype=pl.Float32)


def _time(rows: pl.LazyFrame, dtype: pl.DataType, where: str) -> pl.Expr:
    """Times as numbers, dates in microseconds: so that the later of two within a second is known.

    Where none is given, it is `UNKNOWN_TIME`, which comes before all others.
    """
    value = pl.col(TIMESTAMP)
    if not are_dates(rows, dtype, where):
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


def are_dates(rows: pl.LazyFrame, dtype: pl.DataType, where: str) -> bool:
    """Whether times are dates, not numbers; of text, by the first ones."""
    if dtype != pl.String:
        return isinstance(dtype, (pl.Date, pl.Datetime))
    number = _number(TIMESTAMP, dtype, where).cast(pl.Int64, strict=False)
    first = rows.filter(_is_given(dtype)).head(_SAMPLE)
    return bool(first.select(number.is_null().all()).collect().item())
