"""The ratings table: what every other part starts from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.errors import DataError, cause_of
from evichain.ratings._validation import ROW, RawTable, validate
from evichain.ratings.columns import ITEM, RATING, TIMESTAMP, TITLE, USER, named_columns

if TYPE_CHECKING:
    from evichain.ratings.scale import Scale
    from evichain.ratings.splits import Split

Column = Sequence[Any] | npt.NDArray[Any] | pl.Series


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who rated what, and how: validated, each (user, item) once.

    Make one with `load_ratings`, `from_frame` or `from_arrays`; the constructor checks nothing.

    Attributes:
        frame: user_id and item_id (Int64 or String each), rating (Float32) and, if the source
            has it, timestamp (Int64, seconds since 1970; null if unknown).
        titles: item_id and title, if the source has them.
        duplicates: how many earlier ratings of the same pair were dropped.
        name: the source, for messages.
        notes: what was ignored, skipped or assumed when the source was read.

    >>> ratings = Ratings.from_arrays(["ann", "bob", "ann"], [7, 7, 7], [3, 5, 4])
    >>> len(ratings), ratings.duplicates, ratings.mean
    (2, 1, 4.5)
    """

    frame: pl.DataFrame
    titles: pl.DataFrame | None = None
    duplicates: int = 0
    name: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        return f"<Ratings {self.name}: {len(self)} rows>"

    @property
    def mean(self) -> float:
        """The mean rating.

        In 64 bits: a 32-bit sum of millions of ratings would drift.
        """
        return float(self.frame.select(pl.col(RATING).cast(pl.Float64).mean()).item())

    @classmethod
    def from_arrays(
        cls,
        users: Column,
        items: Column,
        ratings: Column,
        timestamps: Column | None = None,
        *,
        name: str = "",
    ) -> "Ratings":
        """Ratings from one array per column, all of the same length."""
        columns = {USER: users, ITEM: items, RATING: ratings}
        if timestamps is not None:
            columns[TIMESTAMP] = timestamps
        return cls.from_frame(columns, name=name)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        columns: Mapping[str, str] | None = None,
        skip_bad_rows: bool = False,
        name: str = "",
    ) -> "Ratings":
        """Ratings from a polars, pandas or Arrow table, or a dict of columns.

        Columns may have any of the names that files may have (userId, movieId, score, ...). A
        column `title` holds titles of items.

        Args:
            columns: the names of columns, such as `{"user": "customer_no", "item": "sku"}`.
            skip_bad_rows: skip rows that are not ratings; `notes` says how many.
            name: the source, for messages.
        """
        where, named = name or "table", named_columns(columns)
        try:
            rows = _lazy(frame).with_row_index(ROW, 1)
            table = RawTable(rows, where, named=named, skip_bad_rows=skip_bad_rows)
            found, titles = validate(table), _titles(table)
        except (pl.exceptions.PolarsError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"is not a table of ratings ({cause_of(error)})",
                where=where,
                right="Give columns of one length, each of numbers or of strings.",
            ) from error
        if titles is not None:
            titles = titles.with_columns(pl.col(ITEM).cast(found.frame.schema[ITEM], strict=False))
            titles = titles.drop_nulls().unique(ITEM, keep="first", maintain_order=True)
        return cls(found.frame, titles, found.duplicates, name, found.notes)

    def split(self, how: str = "random:0.8", *, seed: int = 0) -> "Split":
        """Split these ratings, as `load_split` does with those of a file.

        >>> ratings = Ratings.from_arrays([1, 1, 2, 2], [1, 2, 1, 2], [5, 4, 3, 2])
        >>> parts = ratings.split("random:0.5")
        >>> len(parts.train), len(parts.test)
        (2, 2)
        """
        from evichain.ratings.split_spec import split_ratings

        return split_ratings(self, how, seed)

    def on(self, scale: "Scale") -> "Ratings":
        """The same ratings, clipped to a scale."""
        cut = pl.col(RATING).clip(scale.low, scale.high).cast(pl.Float32)
        return replace(self, frame=self.frame.with_columns(cut))

    def take(self, rows: Column) -> "Ratings":
        """The ratings at a mask or at indices (each at most once), with the same titles."""
        wanted = rows.to_numpy() if isinstance(rows, pl.Series) else np.asarray(rows)
        if wanted.dtype == np.bool_:
            return replace(self, frame=self.frame.filter(pl.Series(wanted)))
        return replace(self, frame=self.frame[wanted.astype(np.int64)])


def _titles(table: RawTable) -> pl.DataFrame | None:
    names = table.columns()
    if TITLE not in names:
        return None
    rows = table.rows.select(pl.col(names[column]).alias(column) for column in (ITEM, TITLE))
    return rows.with_columns(pl.col(TITLE).cast(pl.String)).unique(maintain_order=True).collect()


def _lazy(frame: Any) -> pl.LazyFrame:
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame.lazy()
    if hasattr(frame, "to_pydict"):
        return pl.DataFrame(frame).lazy()
    # Column by column through NumPy: pandas' own way to Arrow needs a further package.
    columns = frame if isinstance(frame, dict) else {n: frame[n].to_numpy() for n in frame.columns}
    return pl.DataFrame([_series(str(name), column) for name, column in columns.items()]).lazy()


def _series(name: str, values: Column) -> pl.Series:
    if isinstance(values, pl.Series):
        return values.alias(name)
    if isinstance(values, np.ndarray) and values.dtype != object:
        return pl.Series(name, values)
    items = list(values)
    if any(isinstance(item, float) for item in items):
        # [4, 3.5] is a column of numbers, which polars would refuse.
        items = [float(item) if isinstance(item, int) else item for item in items]
    return pl.Series(name, items)
