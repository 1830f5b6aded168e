"""A backend's connection while something is done with it."""

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
"""Rows that are read or loaded at a time: memory is bounded by it."""


class Session(ABC):
    """Runs statements of `queries`, in whatever transaction its store has begun."""

    @abstractmethod
    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that a statement gives."""

    @abstractmethod
    def change(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it changed."""

    @abstractmethod
    def change_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each of many rows of values."""

    @abstractmethod
    def frames(self, sql: str, schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
        """What a statement gives, slice by slice, never all at once."""

    @abstractmethod
    def load(self, frames: Iterable[pl.DataFrame]) -> Written:
        """Put any number of packed ratings, in the order of their keys, past the log."""

    def advance(self, versions: int) -> tuple[int, int]:
        """Take the next versions, which nobody else can until this transaction ends.

        Returns:
            The last of them, and the floor: the log reaches back to what came after it.
        """
        version, floor = self.rows(queries.ADVANCE, [versions])[0]
        return version, floor

    def trim(self, before: int) -> None:
        """Forget the changes before a version."""
        self.change(queries.TRIM, [before])
        self.change(queries.RAISE_FLOOR, [before - 1, before - 1])

    def load_titles(self, titles: "Sequence[tuple[Id, str]]") -> None:
        """Put any number of titles, past the log."""
        self.change_each(queries.PUT_TITLE, [(*pack(item), title) for item, title in titles])

    def look_up(
        self, keys: Sequence[tuple[Any, ...]], query: queries.Query
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of many keys, some at a time."""
        for start in range(0, len(keys), queries.LOOKED_UP):
            some = keys[start : start + queries.LOOKED_UP]
            yield from self.rows(query(len(some)), [value for key in some for value in key])
