"""A table as its source gives it, not validated yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from evichain.errors import DataError
from evichain.ratings.columns import (
    EVENT,
    PAIR,
    RATING,
    REQUIRED,
    WEIGHT,
    name_list,
    resolve,
    resolve_table,
)

ROW = "number of the row"
SURPLUS = "a column too many"
BLANKS = " \t"
"""Characters beside an id in a text file that are not part of it."""


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
