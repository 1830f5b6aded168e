"""The store: ratings and titles that outlast the process, whatever keeps them.

What a store can do is written here once. A backend says how to connect, how to run a statement,
how to load in bulk and how to wait for changes.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from evichain.errors import StaleVersionError
from evichain.progress import progress as shown_progress
from evichain.ratings import Ratings, Side
from evichain.ratings.columns import COLUMNS
from evichain.service.store import change_log, queries
from evichain.service.store.checks import (
    LARGEST,
    LARGEST_BATCH,
    checked_count,
    checked_id,
    checked_pairs,
    checked_ratings,
    checked_titles,
)
from evichain.service.store.exporting import export
from evichain.service.store.group_commit import GroupCommit
from evichain.service.store.id_types import Adopting, as_known
from evichain.service.store.packing import (
    check_ratings,
    pack,
    pack_ratings,
    pack_titles,
    unpack,
    unpack_titles,
)
from evichain.service.store.records import Changes, Counts, Exported, Page, Rating, Written
from evichain.service.store.session import SLICE, Session
from evichain.service.store.store_snapshot import StoreSnapshot
from evichain.service.store.writes import Delete, Erase, Put, PutTitles, Trim, Write, apply

if TYPE_CHECKING:
    from evichain.ratings.ids import Id

_POLL = 0.05
_NONE_WRITTEN = Written(0, 0, 0)


class Store(ABC):
    """Ratings and titles, with a log of changes that several processes can follow.

    Any number of threads may use one store, and any number of processes the same file or
    database. What a call has written is on disk when it returns.

    Attributes:
        name: where it is, as said to people; a password is never part of it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._write = GroupCommit(self._commit)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of all connections."""

    @abstractmethod
    def _looking(self) -> AbstractContextManager[Session]:
        """For single statements that read."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Session]:
        """For several statements that read what was there at one moment."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Session]:
        """For a write transaction, committed at the end and undone on an error.

        Versions have the order of commits because `Session.advance`, its first statement, makes
        all other writers wait until it ends.
        """

    # Writing

    def put(
        self, changes: Iterable[Sequence[Any]], *, adopt: bool = False, keep: bool = False
    ) -> Written:
        """Add or change ratings, all of them or none.

        Args:
            changes: (user_id, item_id, rating) each, and a timestamp if there is one. Of a pair
                given twice the later counts: by time, or without times by place.
            adopt: give ids the kind that they have in the store: 7 where that is how '7' is there.
            keep: leave pairs alone that have a rating; they count as unchanged.

        Raises:
            DataError: an id is in the store already in another kind, as an integer or as text.
        """
        ratings = checked_ratings(changes)
        written: Written = self._write(Put(ratings, adopt, keep)) if ratings else _NONE_WRITTEN
        return written

    def delete(self, pairs: Iterable[Sequence[Any]]) -> int:
        """Delete the ratings of (user_id, item_id) pairs; how many there were."""
        found = checked_pairs(pairs)
        deleted: int = self._write(Delete(found)) if found else 0
        return deleted

    def erase(self, user: "Id") -> int:
        """Erase a user's ratings, from the log too; how many there were.

        What stays until the log is trimmed is that this user was erased.
        """
        erased: int = self._write(Erase(checked_id(user, Side.USER)))
        return erased

    def put_titles(self, titles: Mapping[Any, str | None]) -> int:
        """Set the titles of items, or remove those that are None; how many changed."""
        checked = checked_titles(titles)
        changed: int = self._write(PutTitles(checked)) if checked else 0
        return changed

    def trim(self, before_version: int) -> None:
        """Forget the changes before a version; readers that lag behind it have to start again."""
        self._write(Trim(checked_count(before_version, "version", 0, LARGEST)))

    def _commit(self, writes: Sequence[Write]) -> list[Any]:
        with self._writing() as session:
            version, floor = session.advance(sum(write.size for write in writes))
            results = apply(session, writes, version)
            if version - floor >= change_log.KEPT + change_log.SLACK:
                session.trim(version - change_log.KEPT + 1)
            return results

    # Reading

    def get(self, user: "Id", item: "Id") -> Rating | None:
        """One rating, or None."""
        key = (*pack(checked_id(user, Side.USER)), *pack(checked_id(item, Side.ITEM)))
        with self._looking() as session:
            rows = session.rows(queries.known_ratings(1), key)
        return _rating(rows[0]) if rows else None

    def ratings_of(self, side: Side, identifier: "Id") -> list[Rating]:
        """All ratings that a user gave or an item got.

        By time; those without one come first, in the order in which they were put.
        """
        key = pack(checked_id(identifier, side))
        with self._looking() as session:
            return [_rating(row) for row in session.rows(queries.history(side), key)]

    def page(
        self,
        limit: int = 100,
        *,
        after: "tuple[Id, Id] | None" = None,
        of: "tuple[Side, Id] | None" = None,
    ) -> Page:
        """Some ratings in the order of their ids.

        Args:
            limit: how many.
            after: the (user_id, item_id) that the page before gave as `after`.
            of: only those of one user or item, as (side, id).
        """
        limit = checked_count(limit, "limit", 1, LARGEST_BATCH)
        side = of[0] if of is not None else None
        values: list[Any] = [*pack(checked_id(of[1], of[0]))] if of is not None else []
        if after is not None:
            (pair,) = checked_pairs([after])
            ends = (pair[s] for s in Side if s is not side)
            values += [value for end in ends for value in pack(end)]
        with self._looking() as session:
            # One more than asked for tells whether there is another page.
            query = queries.page(side, after=after is not None)
            ratings = [_rating(row) for row in session.rows(query, [*values, limit + 1])]
        if len(ratings) <= limit:
            return Page(ratings, None)
        return Page(ratings[:limit], (ratings[limit - 1].user, ratings[limit - 1].item))

    def titles(self, items: "Iterable[Id] | None" = None) -> "dict[Id, str]":
        """The titles of these items, or all titles; items without one are left out."""
        asked = None if items is None else [checked_id(item, Side.ITEM) for item in items]
        with self._looking() as session:
            if asked is None:
                rows = iter(session.rows(queries.TITLES))
            else:
                keys = list(dict.fromkeys(map(pack, asked)))
                rows = session.look_up(keys, queries.known_titles)
            return {unpack(text, number): title for text, number, title in rows}

    def counts(self) -> Counts:
        """How much there is."""
        with self._looking() as session:
            return Counts(*session.rows(queries.COUNTS)[0])

    @contextmanager
    def snapshot(self) -> Iterator[StoreSnapshot]:
        """Everything at one version: a place to start from, and then to follow the changes."""
        with self._reading() as session:
            yield StoreSnapshot(session, self.name)

    def scan(self) -> Generator[pl.DataFrame, None, None]:
        """All ratings in bounded memory; for their version as well, take a `snapshot`."""
        with self.snapshot() as snapshot:
            yield from snapshot.frames()

    # Following

    def version(self) -> int:
        """The version of the latest change."""
        with self._looking() as session:
            version: int = session.rows(queries.VERSION)[0][0]
            return version

    def changes_since(self, version: int, limit: int = 1000) -> Changes:
        """What was committed after a version, in the order of the commits.

        Raises:
            StaleVersionError: the log no longer reaches back so far, or never got there; start
                again from a `snapshot`.
        """
        version = checked_count(version, "version", 0, LARGEST)
        limit = checked_count(limit, "limit", 1, LARGEST_BATCH)
        with self._looking() as session:
            rows = session.rows(queries.CHANGES, [version, limit])
        latest, floor = rows[0][:2]
        if not floor <= version <= latest:
            raise StaleVersionError(
                f"no changes since version {version}, only since {floor} up to {latest}",
                where=self.name,
                right="Start again from a snapshot.",
            )
        changes = [change_log.change(row[2:]) for row in rows if row[2] is not None]
        cut = len(changes) == limit
        return Changes(changes, changes[-1].version if cut else latest)

    def wait(self, version: int, timeout: float) -> int:
        """Wait until there is something after a version, or for `timeout` seconds.

        Returns:
            The version of the latest change, the one given if nothing came.
        """
        deadline = time.monotonic() + timeout
        while (latest := self.version()) <= version and time.monotonic() < deadline:
            time.sleep(min(_POLL, max(0.0, deadline - time.monotonic())))
        return latest

    # In bulk

    def import_ratings(self, ratings: Ratings, *, progress: bool = False) -> Written:
        """Put a table of any size and its titles, all of it or nothing.

        Ids take over the kind, integer or text, that they have in the store. More than fits into
        a batch goes past the log, so that readers start again from a snapshot. Others who write
        wait meanwhile, or find the store busy.
        """
        check_ratings(ratings)
        titles = pack_titles(ratings)
        if max(len(ratings), len(titles)) <= LARGEST_BATCH:
            return self._import_batch(ratings, titles)
        slices = pack_ratings(ratings, SLICE)
        return self._load(slices, titles, len(ratings), len(ratings), progress)

    def import_store(self, source: "Store", *, progress: bool = False) -> Written:
        """Put everything that another store holds, with the order in which it came there.

        Ids take over the kind, integer or text, that they have in this one.
        """
        with source.snapshot() as snapshot:
            snapshot.check_kinds()
            titles = snapshot.packed_titles()
            return self._load(snapshot.packed(), titles, snapshot.version, len(snapshot), progress)

    def export(
        self,
        path: str | Path,
        *,
        titles: str | Path | None = None,
        timestamps: bool = True,
        progress: bool = False,
    ) -> Exported:
        """Write all ratings to a .csv, .tsv, .parquet or .ndjson file.

        Args:
            path: written beside its name and renamed at the end.
            titles: another file, for the titles of items.
            timestamps: whether to write them.
            progress: show it.
        """
        other = Path(titles) if titles is not None else None
        with self.snapshot() as snapshot:
            return export(snapshot, Path(path), other, timestamps=timestamps, progress=progress)

    def _import_batch(self, ratings: Ratings, titles: pl.DataFrame) -> Written:
        writes: list[Write] = []
        if len(ratings):
            columns = [name for name in COLUMNS if name in ratings.frame.columns]
            writes.append(
                Put(checked_ratings(ratings.frame.select(columns).iter_rows()), adopt=True)
            )
        if len(titles):
            writes.append(PutTitles(unpack_titles(titles), adopt=True))
        results = self._commit(writes) if writes else []
        return results[0] if len(ratings) else _NONE_WRITTEN

    def _load(
        self,
        slices: Iterable[pl.DataFrame],
        titles: pl.DataFrame,
        versions: int,
        total: int,
        progress: bool,
    ) -> Written:
        """Load packed ratings, whose versions begin after the last one here."""
        with (
            shown_progress("Importing", total, enabled=progress, unit="ratings") as advance,
            self._writing() as session,
        ):
            latest, _ = session.advance(versions)
            adopting = Adopting(session)

            def moved() -> Iterator[pl.DataFrame]:
                for part in slices:
                    yield adopting(part).with_columns(pl.col("version") + (latest - versions))
                    advance(len(part))

            written = session.load(moved())
            session.load_titles(as_known(session, unpack_titles(titles)))
            session.trim(latest + 1)
            return written


def _rating(row: tuple[Any, ...]) -> Rating:
    return Rating(unpack(*row[:2]), unpack(*row[2:4]), row[4], row[5])
