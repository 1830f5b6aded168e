"""The store in a file: SQLite with a write-ahead log, synced before a write is acknowledged."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import polars as pl

from evichain.errors import StoreError, StoreUnavailableError, cause_of
from evichain.service.store import queries
from evichain.service.store.address import SqliteAddress
from evichain.service.store.base import Store
from evichain.service.store.checks import shown
from evichain.service.store.connection_pool import WAIT_SECONDS, ConnectionPool
from evichain.service.store.records import Written
from evichain.service.store.schema import SCHEMA, first_step, migrate, schema_of
from evichain.service.store.session import SLICE, Session

_CONNECTIONS = 16
_CACHE, _LOADING_CACHE = -8_000, -64_000  # kB per connection; SQLite wants it negative
_OLDEST = (3, 37)  # strict tables
_RETRY_SECONDS = 0.01
_APPLICATION = 0x65766963  # "evic", the mark of our files

_STEPS = (
    (
        *first_step(
            text="text", integer="integer", keyed=" STRICT, WITHOUT ROWID", strict=" STRICT"
        ),
        f"PRAGMA application_id = {_APPLICATION}",
    ),
)

_LOADED = (
    queries.PUT + " WHERE rating IS NOT excluded.rating OR timestamp IS NOT excluded.timestamp"
)
# Errors that may pass without a change to the file.
_PASSING = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_NOMEM")


class SqliteStore(Store):
    """Ratings in a file; `open_store` makes one."""

    def __init__(self, address: SqliteAddress, *, create: bool = True) -> None:
        super().__init__(str(address))
        if sqlite3.sqlite_version_info < _OLDEST:
            needed = ".".join(map(str, _OLDEST))
            what = f"needs SQLite {needed}, and this Python has {sqlite3.sqlite_version}"
            raise StoreError(what, where=self.name, right="Use a newer Python.")
        self._path = address.path.absolute()
        self._check_place(create)
        self._pool = ConnectionPool(self._connect, lambda connection: True, _CONNECTIONS, self.name)
        self._file: tuple[int, int] | None = None
        with self._errors_translated():
            self._prepare(create)
        self._file = self._identity()

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def _single_reads(self) -> Iterator[Session]:
        with self._connection() as connection:
            yield _SqliteSession(connection)

    @contextmanager
    def _read_transaction(self) -> Iterator[Session]:
        with self._connection() as connection:
            connection.execute("BEGIN")
            session = _SqliteSession(connection)
            yield session
            session.end()
            connection.execute("COMMIT")

    @contextmanager
    def _write_transaction(self) -> Iterator[Session]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield _SqliteSession(connection)
            connection.execute("COMMIT")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # A deleted file can still be written to by a process that has it open.
        if self._identity() != self._file:
            raise StoreUnavailableError(
                "is no longer the file that was opened",
                where=self.name,
                right="Put it back, or open the store again.",
            )
        with self._errors_translated(), self._pool.use() as connection:
            yield connection

    def _identity(self) -> tuple[int, int] | None:
        """The identity of the file, other than its name."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_place(self, create: bool) -> None:
        parent = self._path.parent
        try:
            if not parent.is_dir():
                right = "Create it first. In a URL, an absolute path has four slashes."
                raise StoreError("is not a folder", where=str(parent), right=right)
            if self._path.is_dir():
                raise StoreError("is a folder", where=self.name, right="Name a file.")
            there = self._path.exists()
        except OSError as error:
            what = f"cannot be a file ({cause_of(error)})"
            raise StoreError(what, where=shown(self.name), right="Name another.") from error
        if not create and not there:
            raise StoreError(
                "no such store", where=self.name, right="Import ratings into it first."
            )

    def _connect(self) -> sqlite3.Connection:
        # Create the file only when the store is opened; later it would be a different one.
        mode = "rwc" if self._file is None else "rw"
        connection = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode={mode}",
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        # Overwrite deleted ratings on disk; shrink the write-ahead log after an import.
        for setting in ("synchronous = FULL", "secure_delete = ON", f"cache_size = {_CACHE}"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute(f"PRAGMA journal_size_limit = {64 << 20}")
        return connection

    def _prepare(self, create: bool) -> None:
        """Create the tables, or migrate them."""
        with self._pool.use() as connection:
            found = self._schema(connection, create)
            if _enable_wal(connection) != "wal":
                right = "Choose a folder on a local disk."
                raise StoreError("cannot have a write-ahead log", where=self.name, right=right)
            if found == SCHEMA:  # no lock needed
                return
            connection.execute("BEGIN IMMEDIATE")
            found = self._schema(connection, create)
            migrate(_SqliteSession(connection), found, _STEPS, self.name)
            connection.execute("COMMIT")

    def _schema(self, connection: sqlite3.Connection, create: bool) -> int:
        """The schema version, 0 without tables; an error if the file is of another program."""
        # In this order: another process may be creating the tables and the mark in one transaction.
        tables = connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        if owner == _APPLICATION:
            return schema_of(_SqliteSession(connection))
        if owner or tables or not create:
            right = "Name another file; it is created if it does not exist."
            raise StoreError("is not a store of ratings", where=self.name, right=right)
        return 0

    @contextmanager
    def _errors_translated(self) -> Iterator[None]:
        """Translate errors of SQLite into ours."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "") or ""
            if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                what, right = "is busy: other writers hold the lock", "Try again."
                raise StoreUnavailableError(what, where=self.name, right=right) from error
            if code.startswith(_PASSING):
                raise StoreUnavailableError(f"cannot be used ({error})", where=self.name) from error
            right = "Name another file, or restore a backup."
            raise StoreError(f"cannot be used ({error})", where=self.name, right=right) from error


def _enable_wal(connection: sqlite3.Connection) -> str:
    """Switch to a write-ahead log; returns the journal mode.

    If several processes do so in a new file, some get SQLITE_BUSY at once, whatever the timeout.
    """
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            return mode
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > end:
                raise
        time.sleep(_RETRY_SECONDS)


class _SqliteSession(Session):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._scans: list[sqlite3.Cursor] = []

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def change(self, sql: str, values: Sequence[Any] = ()) -> int:
        return self._connection.execute(sql, values).rowcount

    def change_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def frames(self, sql: str, schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
        cursor = self._connection.execute(sql)
        self._scans.append(cursor)
        while rows := cursor.fetchmany(SLICE):
            yield pl.DataFrame(rows, schema=schema, orient="row")

    def end(self) -> None:
        """Close unfinished scans, which would keep an old version alive."""
        for cursor in self._scans:
            cursor.close()

    def load(self, frames: Iterable[pl.DataFrame]) -> Written:
        before = self.rows(queries.COUNT)[0][0]
        touched, given = self._connection.total_changes, 0
        self.rows(f"PRAGMA cache_size = {_LOADING_CACHE}")
        if not before:
            # Building it at the end by one sort is much faster.
            self.change(queries.DROP_ITEM_INDEX)
        for frame in frames:
            columns = (column.to_list() for column in frame.iter_columns())
            self._connection.executemany(_LOADED, zip(*columns, strict=True))
            given += len(frame)
        touched = self._connection.total_changes - touched
        if not before:
            self.change(queries.CREATE_ITEM_INDEX)
        self.rows(f"PRAGMA cache_size = {_CACHE}")
        new = self.rows(queries.COUNT)[0][0] - before
        return Written(new, touched - new, given - touched)
