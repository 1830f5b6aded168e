"""All ratings at one version, in bounded memory."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from evichain.errors import DataError
from evichain.ratings import Ratings, Side
from evichain.service.store import queries
from evichain.service.store.packing import PACKED, PACKED_TITLES, shortest, unpack
from evichain.service.store.records import Counts
from evichain.service.store.session import Session

if TYPE_CHECKING:
    from evichain.ratings.ids import Id


class StoreSnapshot:
    """A store at `version`, whatever is written meanwhile.

    It can be read inside its `with` block, by one thread at a time.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self.version: int = session.rows(queries.VERSION)[0][0]

    def __len__(self) -> int:
        """The number of ratings."""
        count: int = self._session.rows(queries.COUNT)[0][0]
        return count

    def counts(self) -> Counts:
        """The numbers of ratings, users, items and titles."""
        return Counts(*self._session.rows(queries.COUNTS)[0])

    @cached_property
    def _id_types(self) -> dict[Side, tuple[bool, bool]]:
        """For each side, whether it has integer ids and whether it has text ids.

        Raises:
            DataError: both 1 and "1" are ids.
        """
        found = {}
        for side in Side:
            integers, texts = map(bool, self._session.rows(queries.id_types_of(side))[0])
            twins = self._session.rows(queries.twins(side)) if integers and texts else []
            if twins:
                number = twins[0][0]
                raise DataError(
                    f"{side.noun}s {number} and '{number}' differ only in type",
                    where=self._name,
                    right="Use only integers or only text: delete the ratings of one of them.",
                )
            found[side] = integers, texts
        return found

    def check_id_types(self) -> None:
        """Refuse a store that has an id in both types.

        Raises:
            DataError: it does; only stores of earlier versions can.
        """
        assert self._id_types

    def integers(self, side: Side) -> list[int]:
        """The integer ids of a side that also has text ids, which become text in a table."""
        if not all(self._id_types[side]):
            return []
        return [number for (number,) in self._session.rows(queries.integers(side))]

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """The columns of the frames: ids are Int64 on a side that has integers only."""
        ids = {s.column: pl.String if self._id_types[s][1] else pl.Int64 for s in Side}
        return {**ids, "rating": pl.Float32, "timestamp": pl.Int64}

    def frames(self, *, in_order: bool = False) -> Iterator[pl.DataFrame]:
        """The ratings, some at a time: user_id, item_id, rating, timestamp (null if not known).

        Args:
            in_order: in the order in which they were added, which takes a sort.
        """
        query = queries.scan(self._id_types, in_order=in_order)
        return self._session.frames(query, self.schema)

    def packed(self) -> Iterator[pl.DataFrame]:
        """The ratings as they are stored, in key order."""
        for frame in self._session.frames(f"{queries.PACKED} ORDER BY {queries.KEY}", PACKED):
            yield frame.with_columns(shortest(frame["rating"]))

    def packed_titles(self) -> pl.DataFrame:
        """The titles as they are stored."""
        rows = self._session.rows(queries.TITLES)
        return pl.DataFrame(rows, schema=PACKED_TITLES, orient="row")

    def titles(self) -> "dict[Id, str]":
        """The titles of items, rated or not."""
        rows = self._session.rows(queries.TITLES)
        return {unpack(text, number): title for text, number, title in rows}

    def title_table(self, item_type: type[pl.DataType] | None = None) -> pl.DataFrame:
        """item_id and title of every item that has one.

        Args:
            item_type: the type of the ids, without those that cannot have it; by default Int64 if
                all are integers, otherwise String.
        """
        titles = self.titles()
        integers = {item: title for item, title in titles.items() if isinstance(item, int)}
        if item_type is None:
            item_type = pl.Int64 if len(integers) == len(titles) else pl.String
        rows: list[tuple[int, str]] | list[tuple[str, str]] = list(integers.items())
        if item_type == pl.String:
            texts = {item: title for item, title in titles.items() if isinstance(item, str)}
            rows = list(({str(item): integers[item] for item in integers} | texts).items())
        schema: dict[str, type[pl.DataType]] = {"item_id": item_type, "title": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def ratings(self) -> Ratings:
        """Everything as one table in memory, with timestamps if all ratings have one."""
        frames = list(self.frames())
        frame = pl.concat(frames) if frames else pl.DataFrame(schema=self.schema)
        if frame["timestamp"].null_count():
            frame = frame.drop("timestamp")
        titles = self.title_table(self.schema["item_id"])
        return Ratings(frame, titles=titles if len(titles) else None, name=self._name)
