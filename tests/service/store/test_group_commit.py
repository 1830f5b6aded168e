"""Group commit: everyone is answered, after the commit, with what came of their own write."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from evichain.errors import DataError, StoreUnavailableError
from evichain.service.store import group_commit
from evichain.service.store.group_commit import LARGEST_GROUP, GroupCommit


@dataclass(frozen=True)
class Number:
    value: int
    size: int = 1


def doubled(writes: Sequence[Number]) -> list[int]:
    return [write.value * 2 for write in writes]


class Behind:
    """Writers that wait behind a commit that does not end before it is told to."""

    def __init__(self, commit: Callable[[Sequence[Number]], list[int]]) -> None:
        self.groups: list[list[int]] = []
        self.answers: dict[int, object] = {}
        self._commit = commit
        self._inside, self._go_on = threading.Event(), threading.Event()
        self._write = GroupCommit(self._held_up)

    def _held_up(self, writes: Sequence[Number]) -> list[int]:
        self.groups.append([write.value for write in writes])
        if writes[0].value == 0:
            self._inside.set()
            self._go_on.wait()
        return self._commit(writes)

    def run(self, *writes: Number) -> None:
        """Let the first write in, the others come to wait, and then all end."""

        def call(write: Number) -> None:
            try:
                self.answers[write.value] = self._write(write)
            except BaseException as error:
                self.answers[write.value] = error

        first = threading.Thread(target=call, args=[Number(0)])
        first.start()
        self._inside.wait()
        others = []
        for number, write in enumerate(writes, start=1):
            others.append(threading.Thread(target=call, args=[write]))
            others[-1].start()
            while len(self._write._queue) + len(self.answers) < number:
                threading.Event().wait(0.001)
        self._go_on.set()
        for thread in (first, *others):
            thread.join()


def test_a_single_writer_waits_for_nobody() -> None:
    assert GroupCommit(doubled)(Number(4)) == 8


def test_those_who_wait_are_committed_together() -> None:
    behind = Behind(doubled)
    behind.run(*(Number(value) for value in range(1, 9)))
    assert behind.groups == [[0], list(range(1, 9))]
    assert behind.answers == {value: 2 * value for value in range(9)}


def test_a_group_has_a_largest_size() -> None:
    behind = Behind(doubled)
    behind.run(Number(1, LARGEST_GROUP - 1), Number(2, 5), Number(3))
    assert behind.groups == [[0], [1, 2], [3]]


def test_one_bad_write_does_not_spoil_the_others() -> None:
    def strict(writes: Sequence[Number]) -> list[int]:
        if any(write.value == 2 for write in writes):
            raise DataError("two is refused", right="Give three.")
        return doubled(writes)

    behind = Behind(strict)
    behind.run(Number(1), Number(2), Number(3))
    assert behind.groups == [[0], [1, 2, 3], [1], [2], [3]]
    error = behind.answers.pop(2)
    assert isinstance(error, DataError)
    assert (error.what, error.right) == ("two is refused", "Give three.")
    assert behind.answers == {0: 0, 1: 2, 3: 6}


def test_when_the_store_is_gone_everyone_is_told() -> None:
    def gone(writes: Sequence[Number]) -> list[int]:
        raise StoreUnavailableError("gone", where="store")

    behind = Behind(gone)
    behind.run(Number(1), Number(2))
    assert behind.groups == [[0], [1, 2]]
    errors = list(behind.answers.values())
    assert [str(error) for error in errors] == ["store: gone"] * 3
    assert len(set(map(id, errors))) == 3


def test_after_an_interrupt_nobody_is_left_waiting() -> None:
    def interrupted(writes: Sequence[Number]) -> list[int]:
        if writes[0].value == 1:
            raise KeyboardInterrupt
        return doubled(writes)

    behind = Behind(interrupted)
    behind.run(Number(1), Number(2))
    kinds = sorted(type(behind.answers[value]).__name__ for value in (1, 2))
    assert kinds == ["KeyboardInterrupt", "StoreUnavailableError"]


def test_a_failure_is_not_remembered() -> None:
    broken = [True]

    def mended(writes: Sequence[Number]) -> list[int]:
        if broken.pop() if broken else False:
            raise StoreUnavailableError("gone")
        return doubled(writes)

    write = GroupCommit(mended)
    with pytest.raises(StoreUnavailableError):
        write(Number(1))
    assert write(Number(1)) == 2


@pytest.mark.parametrize("when", ["waiting", "about to lead"])
def test_who_leaves_holds_nobody_up(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    class Interrupted:
        """A gate at which an interrupt comes, at once or when it has opened."""

        def acquire(self) -> None:
            if when == "about to lead":
                released.wait()
            raise KeyboardInterrupt

        def release(self) -> None:
            released.set()

    class Waiting(group_commit._Waiting):
        def __init__(self, write: Number) -> None:
            super().__init__(write)
            if write.value == 2:
                self.gate = Interrupted()  # type: ignore[assignment]

    monkeypatch.setattr(group_commit, "_Waiting", Waiting)
    behind = Behind(doubled)
    behind.run(Number(2), Number(3))
    assert isinstance(behind.answers.pop(2), KeyboardInterrupt)
    assert behind.answers == {0: 0, 3: 6}
