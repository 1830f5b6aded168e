"""The store in a file: SQLite with a write-ahead log, synced before a write is acknowledged."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import polars as pl

from evichain.errors import StoreError, StoreUnavailableError
from evichain.service.store import queries
from evichain.service.store.address import SqliteAddress
from evichain.service.store.base import Store
from evichain.service.store.checks import said
from evichain.service.store.connection_pool import PATIENCE, ConnectionPool
from evichain.service.store.records import Written
from evichain.service.store.schema import SCHEMA, bring_up_to_date, first_step, schema_of
from evichain.service.store.session import SLICE, Session

_CONNECTIONS = 16
_CACHE, _LOADING_CACHE = -8_000, -64_000  # kB a connection, negative by SQLite's custom
_OLDEST = (3, 37)  # tables that hold to the types of their columns
_AGAIN = 0.01
_APPLICATION = 0x65766963  # "evic", by which a file tells whose it is

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
# What another program, an operator or a full disk may put right.
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
        with self._explained():
            self._prepare(create)
        self._file = self._identity()

    def close(self) -> None:
        self._pool.close()

    @contextmanager
    def _looking(self) -> Iterator[Session]:
        with self._connection() as connection:
            yield _SqliteSession(connection)

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._connection() as connection:
            connection.execute("BEGIN")
            session = _SqliteSession(connection)
            yield session
            session.end()
            connection.execute("COMMIT")

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield _SqliteSession(connection)
            connection.execute("COMMIT")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # A file can be written to, by those who have it open, when nobody will find it again.
        if self._identity() != self._file:
            raise StoreUnavailableError(
                "is no longer the file that was opened",
                where=self.name,
                right="Put it back, or open the store again.",
            )
        with self._explained(), self._pool.use() as connection:
            yield connection

    def _identity(self) -> tuple[int, int] | None:
        """What tells a file from another of the same name."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_place(self, create: bool) -> None:
        parent = self._path.parent
        try:
            if not parent.is_dir():
                right = "Make it first. In a URL, a path that begins at / has four slashes."
                raise StoreError("is not a folder", where=str(parent), right=right)
            if self._path.is_dir():
                raise StoreError("is a folder", where=self.name, right="Name a file.")
            there = self._path.exists()
        except OSError as error:
            what = f"cannot be a file ({error.strerror})"
            raise StoreError(what, where=said(self.name), right="Name another.") from error
        if not create and not there:
            raise StoreError(
                "no such store", where=self.name, right="Import ratings into it first."
            )

    def _connect(self) -> sqlite3.Connection:
        # Only to begin with may there be no file: later, a new one would be another.
        mode = "rwc" if self._file is None else "rw"
        connection = sqlite3.connect(
            f"file:{quote(str(self._path))}?mode={mode}",
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        # Deleted ratings are overwritten, not only unlinked; and the log shrinks after an import.
        for setting in ("synchronous = FULL", "secure_delete = ON", f"cache_size = {_CACHE}"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute(f"PRAGMA journal_size_limit = {64 << 20}")
        return connection

    def _prepare(self, create: bool) -> None:
        """Make the tables, or bring them to the present schema."""
        with self._pool.use() as connection:
            found = self._schema(connection, create)
            if _begin_log(connection) != "wal":
                right = "Choose a folder on a local disk."
                raise StoreError("no write-ahead log can be kept", where=self.name, right=right)
            if found == SCHEMA:  # nothing to wait for, whoever is writing
                return
            connection.execute("BEGIN IMMEDIATE")
            found = self._schema(connection, create)
            bring_up_to_date(_SqliteSession(connection), found, _STEPS, self.name)
            connection.execute("COMMIT")

    def _schema(self, connection: sqlite3.Connection, create: bool) -> int:
        """The schema of the tables, 0 without any; an error if the file is someone else's."""
        # In this order: whoever makes the tables just now says in the same breath whose they are.
        tables = connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        if owner == _APPLICATION:
            return schema_of(_SqliteSession(connection))
        if owner or tables or not create:
            right = "Name another file; a new one is made where there is none."
            raise StoreError("is not a store of ratings", where=self.name, right=right)
        return 0

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what SQLite complains of."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "") or ""
            if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                what, right = "is busy: others have been writing to it", "Try again."
                raise StoreUnavailableError(what, where=self.name, right=right) from error
            if code.startswith(_PASSING):
                raise StoreUnavailableError(f"cannot be used ({error})", where=self.name) from error
            right = "Name another file, or put a back-up in its place."
            raise StoreError(f"cannot be used ({error})", where=self.name, right=right) from error


def _begin_log(connection: sqlite3.Connection) -> str:
    """Have a write-ahead log; how changes are kept from now on.

    Of several who begin it in a new file, SQLite sends some away at once, however patient they are.
    """
    end = time.monotonic() + PATIENCE
    while True:
        try:
            mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            return mode
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > end:
                raise
        time.sleep(_AGAIN)


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
        """End scans that nobody read to their end: they would hold on to the past."""
        for cursor in self._scans:
            cursor.close()

    def load(self, frames: Iterable[pl.DataFrame]) -> Written:
        before = self.rows(queries.COUNT)[0][0]
        touched, given = self._connection.total_changes, 0
        self.rows(f"PRAGMA cache_size = {_LOADING_CACHE}")
        if not before:
            # Made at the end by one sort, it costs a fraction.
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
