"""Group commit: waiting writes of many threads go to disk in one transaction.

A thread that writes while no commit is running becomes the leader: it commits all waiting writes,
then makes the first thread that arrived meanwhile the next leader. So a single writer never
waits, and many writers share the cost of a sync. It needs no thread of its own.
"""

import copy
from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Protocol

from evichain.errors import StoreUnavailableError

LARGEST_GROUP = 20_000
"""Rows in one transaction, not counting the last write; it bounds the waiting time."""


class SizedWrite(Protocol):
    """A write with a size."""

    @property
    def size(self) -> int:
        """The number of rows."""


class _Waiting:
    """A waiting write, and its result."""

    def __init__(self, write: SizedWrite) -> None:
        self.write = write
        self.leads = self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        # Released when the write is done, or when its thread becomes the leader.
        self.gate = Lock()
        self.gate.acquire()

    def end(self, result: Any = None, error: BaseException | None = None) -> None:
        self.result, self.error, self.done = result, error, True


class GroupCommit:
    """Calls `commit` with one or more writes; it returns as many results, or raises."""

    def __init__(self, commit: Callable[[Sequence[Any]], list[Any]]) -> None:
        self._commit = commit
        self._queue: deque[_Waiting] = deque()
        self._someone_leads = False
        self._lock = Lock()

    def __call__(self, write: SizedWrite) -> Any:
        """Write, and return the result; it is on disk when this returns."""
        own = _Waiting(write)
        try:
            with self._lock:
                self._queue.append(own)
                own.leads = not self._someone_leads
                self._someone_leads = True
            if not own.leads:
                own.gate.acquire()
            if own.leads:
                self._lead()
        finally:
            # After an interrupt too: nobody may wait for someone who has left.
            self._leave(own)
        if own.error is None:
            return own.result
        # A copy, as one exception cannot be raised in several threads.
        raise copy.copy(own.error) from own.error

    def _lead(self) -> None:
        """Commit what is waiting, the leader's own write first."""
        group: list[_Waiting] = []
        try:
            with self._lock:
                size = 0
                while self._queue and size < LARGEST_GROUP:
                    group.append(self._queue.popleft())
                    size += group[-1].write.size
            self._commit_group(group)
        finally:
            for one in group:
                if not one.done:
                    one.end(error=StoreUnavailableError("the commit was interrupted"))
                one.gate.release()

    def _leave(self, own: _Waiting) -> None:
        """Leave; if this thread was the leader, the first of those waiting becomes the leader."""
        with self._lock:
            if own in self._queue:
                self._queue.remove(own)
            if own.leads:
                own.leads = False
                self._someone_leads = bool(self._queue)
                if self._queue:
                    self._queue[0].leads = True
                    self._queue[0].gate.release()

    def _commit_group(self, group: Sequence[_Waiting]) -> None:
        try:
            results = self._commit([one.write for one in group])
        except Exception as error:
            if len(group) == 1 or isinstance(error, StoreUnavailableError):
                for one in group:
                    one.end(error=error)
                return
            # One of them is at fault, and the others should not suffer for it.
            for one in group:
                self._commit_group([one])
        else:
            for one, result in zip(group, results, strict=True):
                one.end(result)
