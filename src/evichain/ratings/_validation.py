"""Validation: from a table as its source gives it to typed ratings, each pair once.

A table without ratings is one of interactions: then the column `rating` is the pair's weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.errors import DataError
from evichain.ratings.columns import (
    EVENT,
    ITEM,
    PAIR,
    RATING,
    REQUIRED,
    TIMESTAMP,
    TITLE,
    USER,
    WEIGHT,
    name_list,
    resolve,
    resolve_table,
)
from evichain.ratings.interactions import (
    EventType,
    added_up,
    event_types,
    repeats_note,
    unweighted_note,
    zeros_note,
)

ROW = "number of the row"
SURPLUS = "a column too many"
BLANKS = " \t"
"""Characters beside an id in a text file that are not part of it."""

_SAMPLE = 1000
_SLICE = 1 << 20
_WIDE = (pl.UInt64, pl.Int128, pl.UInt128)
_DATES = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_MICROSECONDS = 10**6
_LARGEST = float(np.finfo(np.float32).max)
UNKNOWN_TIME = -(2**63)


@dataclass(frozen=True)
class RawTable:
    """A table as its source gives it, not validated yet.

    Attributes:
        rows: its columns under their own names, and `ROW`, the row's number for messages. A text
            file read with `skip_bad_rows` also has `SURPLUS`: null unless the row is too long.
        where: the file, for messages.
        separator: the separator of a text file, where ids may be integers; empty for tables
            with types.
        quoted: whether quotes in a text file hold a column together or are ordinary characters.
        named: columns named by the user.
        required: the columns it must have; a table of `REQUIRED` may have interactions instead.
        skip_bad_rows: drop and count rows that are not ratings instead of raising an error.
        events: the weights of event types, if the user gives them.
        notes: what to tell the user about the file.
    """

    rows: pl.LazyFrame
    where: str
    separator: str = ""
    quoted: bool = True
    named: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = REQUIRED
    skip_bad_rows: bool = False
    events: Mapping[str, float] | None = None
    notes: tuple[str, ...] = ()

    def own_columns(self) -> list[str]:
        """The columns of the source."""
        return [n for n in self.rows.collect_schema().names() if n not in (ROW, SURPLUS)]

    def columns(self) -> dict[str, str]:
        """The columns of a ratings table that it has, with the names they have there."""
        own, where = self.own_columns(), self.where
        if self.required == PAIR:
            return resolve(own, where=where, named=self.named, required=PAIR, optional=())
        names = resolve_table(own, where=where, named=self.named, weighed=self.events is not None)
        if self.events is not None and EVENT not in names:
            raise DataError(
                f"no column for the event type among {name_list(own)}",
                where=where,
                right="Name it event (or event_type, type, action), or say which it is: --columns "
                "event=NAME; in Python, columns={...}. Or give no weights of events.",
            )
        return names

    def select(self, names: Mapping[str, str]) -> pl.LazyFrame:
        """These columns, renamed; a row that is too long has none of its values."""
        values = {column: pl.col(name) for column, name in names.items()}
        if SURPLUS in self.rows.collect_schema().names():
            fits = pl.col(SURPLUS).is_null()
            values = {column: pl.when(fits).then(value) for column, value in values.items()}
        return self.rows.select(value.alias(column) for column, value in values.items())

    def unused(self, names: Mapping[str, str]) -> tuple[str, ...]:
        """A note about the columns that are not used, if there are any."""
        left = [name for name in self.own_columns() if name not in names.values()]
        if not left:
            return ()
        note = f"{self.where}: not used: column {name_list(left)}"
        if self.required == REQUIRED and not {RATING, WEIGHT, EVENT} & set(names):
            note += "; no column for the rating, so each row is an interaction (if one of them is "
            note += "the rating, name it: --columns rating=NAME)"
        return (note,)


@dataclass(frozen=True)
class ValidTable:
    """Validated ratings, interactions or pairs.

    Attributes:
        duplicates: how many earlier ratings were dropped, or repeated interactions added up.
        interactions: whether `rating` holds weights.
        events: the types of events that were found.
    """

    frame: pl.DataFrame
    duplicates: int
    notes: tuple[str, ...]
    interactions: bool = False
    events: tuple[EventType, ...] = ()


def validate(table: RawTable) -> ValidTable:
    """The ratings of a table: typed, checked, and only the latest of each pair.

    Interactions of a pair are added up. A table of pairs keeps its duplicates and its order.
    """
    names = table.columns()
    notes = table.notes + table.unused(names)
    names.pop(TITLE, None)
    events = found_events(table, names)
    notes += events_note(table, events)
    schema = table.rows.collect_schema()
    rows = table.select(names)
    types = {column: schema[name] for column, name in names.items()}
    frame = _typed(rows, types, table)
    if frame.is_empty():
        raise no_ratings(table)
    frame, bad = check_rows(frame, table, names)
    if bad:
        notes += (skipped_note(table, len(bad), first_fault(bad[0], table, names)),)
    if frame.is_empty():
        raise no_ratings(table)
    if table.required == PAIR:
        return ValidTable(frame, 0, notes)
    interactions = RATING not in names
    if interactions:
        frame, zeros = weighed(frame)
        if zeros:
            notes += (zeros_note(zeros, table.where),)
        if frame.is_empty():
            raise no_ratings(table)
    frame, dropped = once_each(frame, add_up=interactions)
    if interactions and dropped:
        notes += (repeats_note(dropped, table.where),)
    if TIMESTAMP in frame.columns:
        dates = _are_dates(rows, types[TIMESTAMP], table.where)
        frame = _in_seconds(frame, _MICROSECONDS if dates else None)
    return ValidTable(frame, dropped, notes, interactions, events)


def no_ratings(table: RawTable) -> DataError:
    """A table without rows."""
    noun, optional = "rating", " and, if known, timestamp"
    columns: tuple[str, ...] = REQUIRED
    if table.required == PAIR:
        noun, columns, optional = "pair", PAIR, ""
    elif RATING not in table.columns():
        noun, columns, optional = "interaction", PAIR, " and, if known, weight, event and timestamp"
    return DataError(
        f"no {noun}s in it",
        where=table.where,
        right=f"Each row is one {noun}: {', '.join(columns)}{optional}.",
    )


def found_events(table: RawTable, names: Mapping[str, str]) -> tuple[EventType, ...]:
    """The types of events in a table, of which there are none without such a column.

    Raises:
        DataError: weights are given, but not of all of them.
    """
    if EVENT not in names:
        return ()
    schema = table.rows.collect_schema()
    typed = table.select({EVENT: names[EVENT]}).select(_event(schema[names[EVENT]], table))
    counts = typed.drop_nulls().group_by(EVENT).len().collect(engine="streaming")
    return event_types(
        [(name, count) for name, count in counts.iter_rows()], table.events, table.where
    )


def events_note(table: RawTable, events: Sequence[EventType]) -> tuple[str, ...]:
    """A note about event types that have no weights, if there are any."""
    if not events or table.events is not None:
        return ()
    return (unweighted_note(events, table.where),)


def weighed(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Typed interactions with their weights as `rating`; and how many of weight 0 were left out."""
    parts = [pl.col(c).cast(pl.Float64) for c in (EVENT, WEIGHT) if c in frame.columns]
    others = [c for c in frame.columns if c not in (USER, ITEM, EVENT, WEIGHT)]
    weight = pl.lit(1.0, pl.Float32)
    if parts:
        product = parts[0] if len(parts) == 1 else parts[0] * parts[1]
        weight = product.clip(-_LARGEST, _LARGEST).cast(pl.Float32)
    frame = frame.select(USER, ITEM, weight.alias(RATING), *others)
    if not parts:
        return frame, 0
    kept = frame.filter(pl.col(RATING) != 0)
    return kept, len(frame) - len(kept)


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
    right = f"A {column} is a number."
    if dtype == pl.Boolean and column == RATING:
        right += " If it only says that something happened, drop the column and the false rows."
    raise DataError(f"column {column} has type {dtype}", where=where, right=right)


def _event(dtype: pl.DataType, table: RawTable) -> pl.Expr:
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
    event = _event(dtype, table)
    if table.events is None:
        return pl.when(event.is_not_null()).then(pl.lit(1.0, pl.Float32))
    weights = dict(table.events)
    return event.replace_strict(weights, default=None, return_dtype=pl.Float32)


def _time(rows: pl.LazyFrame, dtype: pl.DataType, where: str) -> pl.Expr:
    """Times as numbers, dates in microseconds: so that the later of two within a second is known.

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
    """Whether times are dates, not numbers; of text, by the first ones."""
    if dtype != pl.String:
        return isinstance(dtype, (pl.Date, pl.Datetime))
    number = _number(TIMESTAMP, dtype, where).cast(pl.Int64, strict=False)
    first = rows.filter(_is_given(dtype)).head(_SAMPLE)
    return bool(first.select(number.is_null().all()).collect().item())


Fault = tuple[int, str]
"""The position of a bad row, and the column that makes it bad."""

_SAID = {
    USER: ("{} is not an id", "Ids are text or integers."),
    ITEM: ("{} is not an id", "Ids are text or integers."),
    RATING: ("{} is not a finite number", "A rating is a finite number, such as 4 or 3.5."),
    WEIGHT: ("{} is not a finite number", "A weight is a finite number, such as 1 or 2.5."),
    EVENT: ("{} is not an event type", "An event type is text, such as view."),
    TIMESTAMP: ("{} is not a time", "It is seconds since 1970, a date like 2026-01-31, or empty."),
}


def check_rows(
    frame: pl.DataFrame, table: RawTable, names: Mapping[str, str], start: int = 0
) -> tuple[pl.DataFrame, list[Fault]]:
    """The good rows of a typed table, and the bad ones if they may be skipped.

    Args:
        start: the position in the table of the frame's first row.

    Raises:
        DataError: the first bad row, unless bad rows are skipped.
    """
    masks = {}
    for column in frame.columns:
        values = frame[column]
        masks[column] = values.is_null()
        if column in (RATING, WEIGHT):
            masks[column] = ~values.is_finite().fill_null(False)
        elif values.dtype == pl.String:
            masks[column] |= values == ""
    if not any(mask.any() for mask in masks.values()):
        return frame, []
    bad = pl.DataFrame(masks).select(pl.any_horizontal(pl.all())).to_series()
    positions = bad.arg_true().to_list()
    faults = [(p + start, next(c for c in masks if masks[c][p])) for p in positions]
    if not table.skip_bad_rows:
        # By column and then by row: a column that is wrong throughout is named first.
        column = next(column for column in masks if masks[column].any())
        raise first_fault(((masks[column].arg_max() or 0) + start, column), table, names)
    return frame.filter(~bad), faults


def first_fault(fault: Fault, table: RawTable, names: Mapping[str, str]) -> DataError:
    """The error of a bad row; the source is read again for its number and content."""
    position, column = fault
    raw = table.rows.slice(position, 1).collect()
    row: dict[str, Any] = raw.row(0, named=True)
    value = row[names[column]]
    shown = repr(value)
    what, right = _SAID[column]
    what = f"{column} {what.format(shown if len(shown) <= 40 else f'{shown[:39]}…')}"
    if row.get(SURPLUS) is not None:
        what = "has more columns than the first row"
    elif value is None or (isinstance(value, str) and not value.strip()):
        what = f"{column} is missing"
    return DataError(what, where=f"{table.where}, row {row[ROW]}", right=right)


def skipped_note(table: RawTable, count: int, first: DataError) -> str:
    """What to tell the user about rows that were skipped."""
    row = first.where.rpartition(", ")[2]
    plural = "s" if count > 1 else ""
    return f"{table.where}: skipped {count:,} bad row{plural} (first: {row}: {first.what})"


def _in_seconds(frame: pl.DataFrame, a_second: int | None) -> pl.DataFrame:
    """Times in seconds, null where there is none; without the column where there is none at all.

    Args:
        a_second: what times count to in a second; None to infer it from their size: as seconds,
            1e11 is the year 5138.
    """
    known = frame[TIMESTAMP].replace(UNKNOWN_TIME, None)
    if known.null_count() == len(known):
        return frame.drop(TIMESTAMP)
    if a_second is None:
        typical = abs(float(np.median(known.drop_nulls().to_numpy())))
        a_second = next((10**n for n in (9, 6, 3) if typical >= 10.0 ** (8 + n)), 1)
    return frame.with_columns(known // a_second)


def once_each(frame: pl.DataFrame, *, add_up: bool = False) -> tuple[pl.DataFrame, int]:
    """Keep the latest of each (user, item): by time where there is one, else by row.

    Most tables have no duplicates, so that case is fast: a sorted table is only scanned, any
    other is hashed, and only rows that share a hash are compared.

    Args:
        add_up: whether the latest gets the weight of all together (see `added_up`).

    Returns:
        The table, and how many rows are not in it.
    """
    if _strictly_sorted(frame):
        return frame, 0
    keys = frame.select(USER, ITEM).hash_rows(seed=0).to_numpy()
    ordered = np.sort(keys)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    if not len(repeated):
        return frame, 0
    rows = _rows_among(keys, repeated)
    suspects = frame[rows].with_columns(pl.Series("row", rows))
    by = [TIMESTAMP, "row"] if TIMESTAMP in frame.columns else ["row"]
    suspects = suspects.sort(USER, ITEM, *by)
    pairs = suspects.select(pl.struct(USER, ITEM).rle_id()).to_series().to_numpy().astype(np.int64)
    latest = suspects["row"].to_numpy()[np.append(pairs[1:] != pairs[:-1], True)]
    keep = np.ones(len(frame), dtype=bool)
    keep[rows] = False
    keep[latest] = True
    if add_up:
        weights = frame[RATING].to_numpy().copy()
        weights[latest] = added_up(pairs, suspects[RATING].to_numpy())
        frame = frame.with_columns(pl.Series(RATING, weights))
    return frame.filter(pl.Series(keep)), int(len(keep) - keep.sum())


def _strictly_sorted(frame: pl.DataFrame) -> bool:
    """Whether integer ids rise from row to row, as in most exported tables: then none repeats."""
    if frame[USER].dtype != pl.Int64 or frame[ITEM].dtype != pl.Int64:
        return False
    users, items = frame[USER].to_numpy(), frame[ITEM].to_numpy()
    for start in range(0, len(frame) - 1, _SLICE):
        end = min(start + _SLICE, len(frame) - 1)
        before, after = slice(start, end), slice(start + 1, end + 1)
        later_item = (users[after] == users[before]) & (items[after] > items[before])
        if not np.all((users[after] > users[before]) | later_item):
            return False
    return True


def _rows_among(
    keys: npt.NDArray[np.uint64], wanted: npt.NDArray[np.uint64]
) -> npt.NDArray[np.int64]:
    """The rows whose key is one of the sorted ones wanted, slice by slice to spare memory."""
    found = []
    for start in range(0, len(keys), _SLICE):
        here = keys[start : start + _SLICE]
        index = np.minimum(np.searchsorted(wanted, here), len(wanted) - 1)
        found.append(np.flatnonzero(wanted[index] == here) + start)
    return np.concatenate(found)
