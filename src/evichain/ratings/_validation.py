"""Validation: from a table as its source gives it to typed ratings, each pair once.

A table without ratings is one of interactions: then the column `rating` is the pair's weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evichain.errors import DataError
from evichain.ratings._column_types import UNKNOWN_TIME, are_dates, as_text, event_type, expressions
from evichain.ratings._raw_table import ROW, SURPLUS, RawTable
from evichain.ratings._repeats import once_each
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
)
from evichain.ratings.interactions import (
    EventType,
    event_types,
    repeats_note,
    unweighted_note,
    zeros_note,
)

_MICROSECONDS = 10**6
_LARGEST = float(np.finfo(np.float32).max)


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
        dates = are_dates(rows, types[TIMESTAMP], table.where)
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
    typed = table.select({EVENT: names[EVENT]}).select(event_type(schema[names[EVENT]], table))
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
