"""The store in a PostgreSQL database, by psycopg."""

import selectors
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from threading import Lock
from typing import Any

import polars as pl
import psycopg

from evichain.errors import StoreError, StoreUnavailableError, cause_of
from evichain.service.store import queries
from evichain.service.store.address import PostgresAddress
from evichain.service.store.base import Store
from evichain.service.store.connection_pool import WAIT_SECONDS, ConnectionPool
from evichain.service.store.packing import PACKED
from evichain.service.store.records import Written
from evichain.service.store.schema import first_step, migrate, schema_of
from evichain.service.store.session import SLICE, Session

Connection = psycopg.Connection[tuple[Any, ...]]

_CONNECTIONS = 8
_STEPS = (first_step(text='text COLLATE "C"', integer="bigint"),)
# The number of the lock that processes hold while they create the tables.
_MAKING_TABLES = 7308324465801326441
_CHANNEL = "evichain"
_LONGEST_WAIT = 1.0
_LOCK_TIMEOUT = f"{int(WAIT_SECONDS)}s"
# Whatever the configuration of the server: acknowledged writes are synced, locks time out, and
# ratings are read with all digits.
_SETTINGS = (
    "SELECT set_config('lock_timeout', ?, false), set_config('extra_float_digits', '1', false), "
    "set_config('synchronous_commit', "
    "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' "
    "ELSE current_setting('synchronous_commit') END, false)"
)

_GIVEN = "CREATE TEMPORARY TABLE given (LIKE evichain_ratings) ON COMMIT DROP"
_SAME = " AND ".join(f"r.{column} = g.{column}" for column in queries.KEY.split(", "))
_MERGE = (
    "WITH differing AS (SELECT g.*, r.version IS NULL AS new FROM given g LEFT JOIN "
    f"evichain_ratings r ON {_SAME} WHERE r.version IS NULL OR r.rating <> g.rating "
    "OR r.timestamp IS DISTINCT FROM g.timestamp), "
    f"written AS (INSERT INTO evichain_ratings ({', '.join(PACKED)}) "
    f"SELECT {', '.join(PACKED)} FROM differing {queries.IN_PLACE}) "
    "SELECT count(*) FILTER (WHERE new), count(*) FILTER (WHERE NOT new) FROM differing"
)


class PostgresStore(Store):
    """Ratings in a database; `open_store` makes one."""

    def __init__(self, address: PostgresAddress, *, create: bool = True) -> None:
        super().__init__(str(address))
        self._conninfo = address.conninfo
        self._pool = ConnectionPool(self._connect, _is_usable, _CONNECTIONS, self.name)
        self._listener: Connection | None = None
        self._listening = Lock()
        self._prepare(create)

    def close(self) -> None:
        self._pool.close()
        with self._listening:
            if self._listener is not None:
                self._listener.close()

    @contextmanager
    def _single_reads(self) -> Iterator[Session]:
        with self._errors_translated(), self._pool.use() as connection:
            yield _PostgresSession(connection)

    @contextmanager
    def _read_transaction(self) -> Iterator[Session]:
        with self._errors_translated(), self._pool.use() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _PostgresSession(connection)

    @contextmanager
    def _write_transaction(self) -> Iterator[Session]:
        with self._errors_translated(), self._pool.use() as connection, connection.transaction():
            yield _PostgresSession(connection)

    def wait(self, version: int, timeout: float) -> int:
        if not self._listening.acquire(blocking=False):
            return super().wait(version, timeout)
        try:
            with self._errors_translated():
                return self._listen(version, time.monotonic() + timeout)
        except StoreError:
            if self._listener is not None:
                self._listener.close()
            self._listener = None
            raise
        finally:
            self._listening.release()

    def _listen(self, version: int, deadline: float) -> int:
        if self._listener is None:
            self._listener = self._connect()
            self._listener.execute(f"LISTEN {_CHANNEL}")
        while True:
            latest, left = self.version(), deadline - time.monotonic()
            if latest > version or left <= 0:
                return latest
            # Not for long: a proxy may drop notifications.
            for _ in self._listener.notifies(timeout=min(left, _LONGEST_WAIT), stop_after=1):
                pass

    def _connect(self) -> Connection:
        connection = psycopg.connect(self._conninfo, autocommit=True)
        # A writer that waited for another one must see its changes.
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        _PostgresSession(connection).rows(_SETTINGS, [_LOCK_TIMEOUT])
        return connection

    def _prepare(self, create: bool) -> None:
        """Create the tables, or migrate them."""
        with self._write_transaction() as session:
            encoding = session.rows("SHOW server_encoding")[0][0]
            if encoding != "UTF8":
                right = "Create one with createdb --encoding=UTF8 --template=template0."
                what = f"is a database in {encoding}, not UTF-8"
                raise StoreError(what, where=self.name, right=right)
            session.rows("SELECT pg_advisory_xact_lock(?)", [_MAKING_TABLES])
            there = session.rows("SELECT to_regclass('evichain_state') IS NOT NULL")[0][0]
            if not there and not create:
                right = "Import ratings into it first."
                raise StoreError("the database contains no store", where=self.name, right=right)
            found = schema_of(session) if there else 0
            migrate(session, found, _STEPS, self.name)

    @contextmanager
    def _errors_translated(self) -> Iterator[None]:
        """Translate errors of the server or the connection into ours."""
        try:
            yield
        except psycopg.errors.LockNotAvailable as error:
            what, right = "is busy: other writers hold the lock", "Try again."
            raise StoreUnavailableError(what, where=self.name, right=right) from error
        except psycopg.Error as error:
            reason = error.diag.message_primary or cause_of(error)
            lost = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)
            if isinstance(error, lost):
                raise StoreUnavailableError(
                    f"cannot be used ({reason})", where=self.name
                ) from error
            unentitled = isinstance(error, psycopg.errors.InsufficientPrivilege)
            right = (
                "The role must own the tables, or be allowed to create them." if unentitled else ""
            )
            raise StoreError(f"refuses ({reason})", where=self.name, right=right) from error


class _PostgresSession(Session):
    _numbers = count()

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def advance(self, versions: int) -> tuple[int, int]:
        found = super().advance(versions)
        self._connection.execute("SELECT pg_notify(%s, '')", [_CHANNEL])
        return found

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(_psycopg_sql(sql), values).fetchall()

    def change(self, sql: str, values: Sequence[Any] = ()) -> int:
        return self._connection.execute(_psycopg_sql(sql), values).rowcount

    def change_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        if len(rows) == 1:
            self.change(sql, rows[0])
        elif rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_psycopg_sql(sql), rows)

    def frames(self, sql: str, schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
        name = f"evichain_{next(self._numbers)}"
        with self._connection.cursor(name, binary=True) as cursor:
            cursor.execute(_psycopg_sql(sql))
            while rows := cursor.fetchmany(SLICE):
                yield pl.DataFrame(rows, schema=schema, orient="row")

    def load(self, frames: Iterable[pl.DataFrame]) -> Written:
        if not self.rows("SELECT FROM evichain_ratings LIMIT 1"):
            # Building it at the end by one sort is much faster.
            self.change(queries.DROP_ITEM_INDEX)
            new = sum(self._copy(frame, "evichain_ratings") for frame in frames)
            self.change(queries.CREATE_ITEM_INDEX)
            written = Written(new, 0, 0)
        else:
            self.change(_GIVEN)
            given = new = changed = 0
            for frame in frames:
                given += self._copy(frame, "given")
                counts = self.rows(_MERGE)[0]
                new, changed = new + counts[0], changed + counts[1]
                self.change("TRUNCATE given")
            written = Written(new, changed, given - new - changed)
        self.change("ANALYZE evichain_ratings")
        return written

    def _copy(self, frame: pl.DataFrame, table: str) -> int:
        text = frame.write_csv(include_header=False, quote_style="non_numeric")
        columns = ", ".join(frame.columns)
        with self._connection.cursor() as cursor:
            with cursor.copy(
                _psycopg_sql(f"COPY {table} ({columns}) FROM STDIN (FORMAT csv)")
            ) as copy:
                copy.write(text)
            return cursor.rowcount


def _psycopg_sql(sql: str) -> bytes:
    """A statement in the syntax of psycopg."""
    return sql.replace("?", "%s").encode()


def _is_usable(connection: Connection) -> bool:
    """Whether an idle connection still works: a server that closes it sends something."""
    if connection.closed:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)
