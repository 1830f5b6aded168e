"""The table of ratings or interactions: what every other part starts from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.errors import DataError, cause_of
from evichain.ratings._raw_table import ROW, RawTable
from evichain.ratings._validation import validate
from evichain.ratings.columns import (
    ITEM,
    RATING,
    TIMESTAMP,
    TITLE,
    USER,
    WEIGHT,
    named_columns,
)
from evichain.ratings.interactions import EventType, checked_events

if TYPE_CHECKING:
    from evichain.ratings.scale import Scale
    from evichain.ratings.splits import Split

Column = Sequence[Any] | npt.NDArray[Any] | pl.Series


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings or interactions of users and items: validated, each (user, item) once.

    Make one with `load_ratings`, `from_frame` or `from_arrays`; the constructor checks nothing.

    Attributes:
        frame: user_id and item_id (Int64 or String each), rating (Float32) and, if the source
            has it, timestamp (Int64, seconds since 1970; null if unknown). Of interactions,
            `rating` holds the weight of the pair; below 0 means dislike.
        titles: item_id and title, if the source has them.
        duplicates: how many earlier ratings of the same pair were dropped, or how many repeated
            interactions were added up (see `evichain.ratings.interactions.added_up`).
        name: the source, for messages.
        notes: what was ignored, skipped or assumed when the source was read.
        interactions: whether these are interactions, without ratings.
        events: the types of events that the source had.

    >>> ratings = Ratings.from_arrays(["ann", "bob", "ann"], [7, 7, 7], [3, 5, 4])
    >>> len(ratings), ratings.duplicates, ratings.mean
    (2, 1, 4.5)
    >>> Ratings.from_arrays(["ann", "bob", "ann"], [7, 7, 7]).frame["rating"].to_list()
    [1.0, 1.6931471824645996]
    """

    frame: pl.DataFrame
    titles: pl.DataFrame | None = None
    duplicates: int = 0
    name: str = ""
    notes: tuple[str, ...] = ()
    interactions: bool = False
    events: tuple[EventType, ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        return f"<Ratings {self.name}: {len(self)} rows>"

    @property
    def noun(self) -> str:
        """What a row is, for messages."""
        return "interaction" if self.interactions else "rating"

    @property
    def mean(self) -> float:
        """The mean rating, or the mean weight.

        In 64 bits: a 32-bit sum of millions of ratings would drift.
        """
        return float(self.frame.select(pl.col(RATING).cast(pl.Float64).mean()).item())

    @classmethod
    def from_arrays(
        cls,
        users: Column,
        items: Column,
        ratings: Column | None = None,
        timestamps: Column | None = None,
        *,
        weights: Column | None = None,
        name: str = "",
    ) -> "Ratings":
        """Ratings from one array per column, all of the same length; without ratings, interactions.

        Args:
            weights: of interactions; each counts 1 by default.
        """
        if ratings is not None and weights is not None:
            raise DataError("both ratings and weights are given", right="Give one of them.")
        given = {RATING: ratings, WEIGHT: weights, TIMESTAMP: timestamps}
        columns = {column: values for column, values in given.items() if values is not None}
        return cls.from_frame({USER: users, ITEM: items, **columns}, name=name)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        columns: Mapping[str, str] | None = None,
        skip_bad_rows: bool = False,
        events: Mapping[str, float] | None = None,
        name: str = "",
    ) -> "Ratings":
        """Ratings from a polars, pandas or Arrow table, or a dict of columns.

        Columns may have any of the names that files may have (userId, movieId, score, ...). A
        column `title` holds titles of items. A table without a column of ratings is one of
        interactions, each of weight 1 unless there are columns `weight` (or `count`) or `event`.

        Args:
            columns: the names of columns, such as `{"user": "customer_no", "item": "sku"}`.
            skip_bad_rows: skip rows that are not ratings; `notes` says how many.
            events: the weight of each type of event, such as `{"view": 1, "buy": 5}`; by default
                each counts 1.
            name: the source, for messages.
        """
        where, named = name or "table", named_columns(columns)
        weights = checked_events(events)
        try:
            rows = _lazy(frame).with_row_index(ROW, 1)
            table = RawTable(rows, where, named=named, skip_bad_rows=skip_bad_rows, events=weights)
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
        return cls(
            found.frame,
            titles,
            found.duplicates,
            name,
            found.notes,
            found.interactions,
            found.events,
        )

    def to_frame(self) -> pl.DataFrame:
        """The table as `from_frame` takes it: the weight of interactions is named so."""
        return self.frame.rename({RATING: WEIGHT}) if self.interactions else self.frame

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
        """The same ratings, clipped to a scale; weights of interactions are not."""
        if self.interactions:
            return self
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
