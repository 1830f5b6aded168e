"""The store: persistent ratings and titles, whatever the database.

All operations are written here once. A subclass implements how to connect, run a statement, load
in bulk and wait for changes.
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
from evichain.service.store.id_types import IdTypeAdopter, as_known
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
        name: its address without the password.
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
        """Close all connections."""

    @abstractmethod
    def _single_reads(self) -> AbstractContextManager[Session]:
        """A session for single statements that read."""

    @abstractmethod
    def _read_transaction(self) -> AbstractContextManager[Session]:
        """A session for several statements that read the state of one moment."""

    @abstractmethod
    def _write_transaction(self) -> AbstractContextManager[Session]:
        """A session for a write transaction, committed at the end and rolled back on an error.

        Versions are in commit order, because `Session.advance`, its first statement, blocks all
        other writers until the transaction ends.
        """

    # Writing

    def put(
        self, changes: Iterable[Sequence[Any]], *, adopt: bool = False, keep: bool = False
    ) -> Written:
        """Add or change ratings, all of them or none.

        Args:
            changes: (user_id, item_id, rating) each, and a timestamp if there is one. If a pair
                is given twice, the later one counts: by time, or without times by position.
            adopt: give ids the type that they have in the store: 7 if the store has 7 and not '7'.
            keep: do not change pairs that have a rating; they count as unchanged.

        Raises:
            DataError: an id is in the store in the other type (integer or text).
        """
        ratings = checked_ratings(changes)
        written: Written = self._write(Put(ratings, adopt, keep)) if ratings else _NONE_WRITTEN
        return written

    def delete(self, pairs: Iterable[Sequence[Any]]) -> int:
        """Delete the ratings of (user_id, item_id) pairs; returns how many there were."""
        found = checked_pairs(pairs)
        deleted: int = self._write(Delete(found)) if found else 0
        return deleted

    def erase(self, user: "Id") -> int:
        """Erase a user's ratings, from the log too; returns how many there were.

        Until the log is trimmed, it keeps the fact that this user was erased.
        """
        erased: int = self._write(Erase(checked_id(user, Side.USER)))
        return erased

    def put_titles(self, titles: Mapping[Any, str | None]) -> int:
        """Set the titles of items, None removes one; returns how many changed."""
        checked = checked_titles(titles)
        changed: int = self._write(PutTitles(checked)) if checked else 0
        return changed

    def trim(self, before_version: int) -> None:
        """Delete the log before a version; readers at older versions must start again."""
        self._write(Trim(checked_count(before_version, "version", 0, LARGEST)))

    def _commit(self, writes: Sequence[Write]) -> list[Any]:
        with self._write_transaction() as session:
            version, floor = session.advance(sum(write.size for write in writes))
            results = apply(session, writes, version)
            if version - floor >= change_log.KEPT + change_log.SLACK:
                session.trim(version - change_log.KEPT + 1)
            return results

    # Reading

    def get(self, user: "Id", item: "Id") -> Rating | None:
        """One rating, or None."""
        key = (*pack(checked_id(user, Side.USER)), *pack(checked_id(item, Side.ITEM)))
        with self._single_reads() as session:
            rows = session.rows(queries.known_ratings(1), key)
        return _rating(rows[0]) if rows else None

    def ratings_of(self, side: Side, identifier: "Id") -> list[Rating]:
        """All ratings that a user gave or an item got.

        By time; those without one come first, in the order in which they were added.
        """
        key = pack(checked_id(identifier, side))
        with self._single_reads() as session:
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
            after: the `after` of the previous page.
            of: only those of one user or item, as (side, id).
        """
        limit = checked_count(limit, "limit", 1, LARGEST_BATCH)
        side = of[0] if of is not None else None
        values: list[Any] = [*pack(checked_id(of[1], of[0]))] if of is not None else []
        if after is not None:
            (pair,) = checked_pairs([after])
            ends = (pair[s] for s in Side if s is not side)
            values += [value for end in ends for value in pack(end)]
        with self._single_reads() as session:
            # One more than asked for shows whether there is another page.
            query = queries.page(side, after=after is not None)
            ratings = [_rating(row) for row in session.rows(query, [*values, limit + 1])]
        if len(ratings) <= limit:
            return Page(ratings, None)
        return Page(ratings[:limit], (ratings[limit - 1].user, ratings[limit - 1].item))

    def titles(self, items: "Iterable[Id] | None" = None) -> "dict[Id, str]":
        """The titles of these items, or all titles; items without one are left out."""
        asked = None if items is None else [checked_id(item, Side.ITEM) for item in items]
        with self._single_reads() as session:
            if asked is None:
                rows = iter(session.rows(queries.TITLES))
            else:
                keys = list(dict.fromkeys(map(pack, asked)))
                rows = session.look_up(keys, queries.known_titles)
            return {unpack(text, number): title for text, number, title in rows}

    def counts(self) -> Counts:
        """The numbers of ratings, users, items and titles."""
        with self._single_reads() as session:
            return Counts(*session.rows(queries.COUNTS)[0])

    @contextmanager
    def snapshot(self) -> Iterator[StoreSnapshot]:
        """Everything at one version; `changes_since` that version gives the rest."""
        with self._read_transaction() as session:
            yield StoreSnapshot(session, self.name)

    def scan(self) -> Generator[pl.DataFrame, None, None]:
        """All ratings in bounded memory; take a `snapshot` to get their version too."""
        with self.snapshot() as snapshot:
            yield from snapshot.frames()

    # Following

    def version(self) -> int:
        """The version of the latest change."""
        with self._single_reads() as session:
            version: int = session.rows(queries.VERSION)[0][0]
            return version

    def changes_since(self, version: int, limit: int = 1000) -> Changes:
        """The changes committed after a version, in commit order.

        Raises:
            StaleVersionError: the log does not reach back to this version, or the version does
                not exist; start again from a `snapshot`.
        """
        version = checked_count(version, "version", 0, LARGEST)
        limit = checked_count(limit, "limit", 1, LARGEST_BATCH)
        with self._single_reads() as session:
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
        """Wait for a change after a version, at most `timeout` seconds.

        Returns:
            The version of the latest change.
        """
        deadline = time.monotonic() + timeout
        while (latest := self.version()) <= version and time.monotonic() < deadline:
            time.sleep(min(_POLL, max(0.0, deadline - time.monotonic())))
        return latest

    # In bulk

    def import_ratings(self, ratings: Ratings, *, progress: bool = False) -> Written:
        """Import a table of any size and its titles, all of it or nothing.

        Ids get the type, integer or text, that they have in the store. Tables larger than a
        batch are not logged, so that readers start again from a snapshot. Other writers wait
        meanwhile, or get an error that the store is busy.
        """
        check_ratings(ratings)
        titles = pack_titles(ratings)
        if max(len(ratings), len(titles)) <= LARGEST_BATCH:
            return self._import_batch(ratings, titles)
        slices = pack_ratings(ratings, SLICE)
        return self._load(slices, titles, len(ratings), len(ratings), progress)

    def import_store(self, source: "Store", *, progress: bool = False) -> Written:
        """Import everything of another store, in the same order.

        Ids get the type, integer or text, that they have in this store.
        """
        with source.snapshot() as snapshot:
            snapshot.check_id_types()
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
            path: written under a temporary name and renamed at the end.
            titles: another file, for the titles of items.
            timestamps: whether to write them.
            progress: show a progress bar.
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
            self._write_transaction() as session,
        ):
            latest, _ = session.advance(versions)
            adopting = IdTypeAdopter(session)

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
