"""The ratings table: what every other part starts from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.errors import DataError
from evichain.ratings._cleaning import ROW, RawTable, clean
from evichain.ratings._columns import ITEM, RATING, TIMESTAMP, USER

if TYPE_CHECKING:
    from evichain.ratings.scale import Scale

Column = Sequence[Any] | npt.NDArray[Any] | pl.Series


@dataclass(frozen=True, eq=False)
class Ratings:
    """Who rated what, and how: validated, each (user, item) once.

    Make one with `load_ratings`, `from_frame` or `from_arrays`; the constructor believes what it
    is given.

    Attributes:
        frame: user_id and item_id (Int64 or String each), rating (Float32) and, where the source
            has it, timestamp (Int64, seconds since 1970; null where it is not known).
        titles: item_id and title, where the source has them.
        duplicates: how many earlier ratings of a pair rated again were dropped.
        name: where it came from, as said to people.

    >>> ratings = Ratings.from_arrays(["ann", "bob", "ann"], [7, 7, 7], [3, 5, 4])
    >>> len(ratings), ratings.duplicates, ratings.mean
    (2, 1, 4.5)
    """

    frame: pl.DataFrame
    titles: pl.DataFrame | None = None
    duplicates: int = 0
    name: str = ""

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
    def from_frame(cls, frame: Any, *, name: str = "") -> "Ratings":
        """Ratings from a polars, pandas or Arrow table, or a dict of columns.

        Columns may have any of the names that files may have (userId, movieId, score, ...).
        """
        where = name or "table"
        try:
            kept, dropped = clean(RawTable(_lazy(frame).with_row_index(ROW, 1), where))
        except (pl.exceptions.PolarsError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"is no table of ratings ({str(error).splitlines()[0]})",
                where=where,
                right="Give columns of one length, each of numbers or of strings.",
            ) from error
        return cls(kept, duplicates=dropped, name=name)

    def on(self, scale: "Scale") -> "Ratings":
        """The same, cut to a scale."""
        cut = pl.col(RATING).clip(scale.low, scale.high).cast(pl.Float32)
        return replace(self, frame=self.frame.with_columns(cut))

    def take(self, rows: Column) -> "Ratings":
        """The ratings at a mask or at indices (each at most once), with the same titles."""
        wanted = rows.to_numpy() if isinstance(rows, pl.Series) else np.asarray(rows)
        if wanted.dtype == np.bool_:
            return replace(self, frame=self.frame.filter(pl.Series(wanted)))
        return replace(self, frame=self.frame[wanted.astype(np.int64)])


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
