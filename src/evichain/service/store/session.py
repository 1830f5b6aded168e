"""A session: a database connection in use."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from evichain.service.store import queries
from evichain.service.store.packing import pack
from evichain.service.store.records import Written

if TYPE_CHECKING:
    from evichain.ratings.ids import Id

SLICE = 100_000
"""Rows that are read or loaded at a time; it bounds the memory."""


class Session(ABC):
    """Runs statements of `queries` in the transaction of its store."""

    @abstractmethod
    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    @abstractmethod
    def change(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; returns how many rows it changed."""

    @abstractmethod
    def change_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each of many rows of values."""

    @abstractmethod
    def frames(self, sql: str, schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
        """The rows of a query, slice by slice."""

    @abstractmethod
    def load(self, frames: Iterable[pl.DataFrame]) -> Written:
        """Load any number of packed ratings, in key order, without logging them."""

    def advance(self, versions: int) -> tuple[int, int]:
        """Take the next versions; other writers wait until this transaction ends.

        Returns:
            The last of them, and the floor: the log has all changes after the floor.
        """
        version, floor = self.rows(queries.ADVANCE, [versions])[0]
        return version, floor

    def trim(self, before: int) -> None:
        """Delete the log before a version."""
        self.change(queries.TRIM, [before])
        self.change(queries.RAISE_FLOOR, [before - 1, before - 1])

    def load_titles(self, titles: "Sequence[tuple[Id, str]]") -> None:
        """Load any number of titles, without logging them."""
        self.change_each(queries.PUT_TITLE, [(*pack(item), title) for item, title in titles])

    def look_up(
        self, keys: Sequence[tuple[Any, ...]], query: queries.Query
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of many keys, in several queries."""
        for start in range(0, len(keys), queries.KEYS_PER_QUERY):
            some = keys[start : start + queries.KEYS_PER_QUERY]
            yield from self.rows(query(len(some)), [value for key in some for value in key])
