"""A pool of connections to a database.

A call that cannot connect fails at once, and the next call tries again. Nothing reconnects in
the background.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Semaphore
from typing import Generic, Protocol, TypeVar

from evichain.errors import StoreError, StoreUnavailableError

WAIT_SECONDS = 10.0
"""Seconds to wait for a connection or a lock before a store is reported as busy."""


class Closable(Protocol):
    """What a pool needs of a connection."""

    def close(self) -> None: ...


Connection = TypeVar("Connection", bound=Closable)


class ConnectionPool(Generic[Connection]):
    """At most `size` connections.

    Args:
        connect: opens a connection.
        usable: whether an idle connection still works.
        size: the largest number of connections.
        name: the store, for messages.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        usable: Callable[[Connection], bool],
        size: int,
        name: str,
    ) -> None:
        self._connect, self._usable, self._name = connect, usable, name
        self._idle: list[Connection] = []
        self._lock, self._places = Lock(), Semaphore(size)
        self._closed = False
        self._process = os.getpid()

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """A connection for one piece of work; it is closed if that fails."""
        if self._process != os.getpid():
            right = "Open the store in the process that uses it."
            raise StoreError("was opened by another process", where=self._name, right=right)
        if not self._places.acquire(timeout=WAIT_SECONDS):
            raise StoreUnavailableError("all connections are in use", where=self._name)
        try:
            connection = self._take()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)
        finally:
            self._places.release()

    def close(self) -> None:
        """Close the idle connections now, and the others when they are returned."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        while True:
            with self._lock:
                if self._closed:
                    raise StoreError("is closed", where=self._name, right="Open it again.")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect()
            if self._usable(connection):
                return connection
            connection.close()

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()
