"""The validated ratings of a table, piece by piece: for tables that do not fit in memory."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from evichain.ratings._cleaning import ROW, RawTable, as_text, check, expressions, no_ratings
from evichain.ratings._columns import TIMESTAMP, resolve

PIECE = 1 << 20
"""How many rows are in memory at once."""


class Stream:
    """Goes over a typed table as often as it is asked to, in the order of its rows.

    Its pieces have the columns and types that `clean` gives a table. Timestamps are as they
    stand there, which is enough to tell the later of two, and pairs may be repeated.

    Attributes:
        rows: how many there are.
        timed: whether they have timestamps.
    """

    def __init__(self, table: RawTable, piece: int = PIECE) -> None:
        schema = table.rows.collect_schema()
        names = resolve((name for name in schema.names() if name != ROW), where=table.where)
        rows = table.rows.select(pl.col(name).alias(column) for column, name in names.items())
        self.rows: int = _only(rows, pl.len())
        if not self.rows:
            raise no_ratings(table)
        if TIMESTAMP in names and _only(rows, pl.col(TIMESTAMP).is_null().all()):
            del names[TIMESTAMP]
        types = {column: schema[name] for column, name in names.items()}
        exact, whole = expressions(rows, types, table)
        for column, holds in whole.items():
            if not _only(rows, holds.all()):
                exact[column] = as_text(column, table)
        self.timed = TIMESTAMP in names
        self._typed = rows.select(kept.alias(column) for column, kept in exact.items())
        self._table, self._names, self._piece = table, names, piece

    def __iter__(self) -> Iterator[pl.DataFrame]:
        first = 0
        for piece in self._typed.collect_batches(chunk_size=self._piece, engine="streaming"):
            check(piece, self._table, self._names, first)
            first += len(piece)
            yield piece


def _only(rows: pl.LazyFrame, question: pl.Expr) -> Any:
    """The one answer to a question about all rows."""
    return rows.select(question).collect(engine="streaming").item()
