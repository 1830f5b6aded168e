"""Connections: used again, never more than allowed, not used again when something went wrong."""

import os
import threading

import pytest

from evichain.errors import StoreError, StoreUnavailableError
from evichain.service.store import connection_pool as module
from evichain.service.store.connection_pool import ConnectionPool


class Line:
    """A connection that knows whether it was closed."""

    def __init__(self) -> None:
        self.open = True

    def close(self) -> None:
        self.open = False


@pytest.fixture
def lines() -> list[Line]:
    return []


@pytest.fixture
def pool(lines: list[Line]) -> ConnectionPool[Line]:
    def connect() -> Line:
        lines.append(Line())
        return lines[-1]

    return ConnectionPool(connect, lambda line: line.open, 2, "store")


def test_one_after_the_other_share_a_connection(
    pool: ConnectionPool[Line], lines: list[Line]
) -> None:
    for _ in range(3):
        with pool.use():
            pass
    assert len(lines) == 1


def test_at_once_each_has_its_own_and_too_many_are_told(
    pool: ConnectionPool[Line], lines: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.01)
    with pool.use() as one, pool.use() as two:
        assert one is not two
        with pytest.raises(StoreUnavailableError, match="all connections are in use"), pool.use():
            pass
    with pool.use():
        assert len(lines) == 2


def test_who_comes_too_early_gets_one_later(pool: ConnectionPool[Line], lines: list[Line]) -> None:
    with pool.use():
        holding = pool.use()
        holding.__enter__()
        thread = threading.Thread(target=lambda: using(pool))
        thread.start()
        holding.__exit__(None, None, None)
        thread.join()
    assert len(lines) == 2


def test_after_an_error_a_connection_is_not_used_again(
    pool: ConnectionPool[Line], lines: list[Line]
) -> None:
    for _ in range(5):
        with pytest.raises(ZeroDivisionError), pool.use():
            1 / 0  # noqa: B018
    assert [line.open for line in lines] == [False] * 5
    with pool.use() as line:
        assert line.open


def test_one_that_went_away_while_idle_is_replaced(
    pool: ConnectionPool[Line], lines: list[Line]
) -> None:
    with pool.use() as line:
        pass
    line.open = False
    with pool.use() as other:
        assert other.open


def test_a_connection_that_cannot_be_made_takes_no_place() -> None:
    def connect() -> Line:
        raise StoreUnavailableError("no server")

    pool = ConnectionPool(connect, lambda line: True, 1, "store")
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match="no server"):
            using(pool)


def test_closing_closes_what_is_idle_and_later_the_rest(
    pool: ConnectionPool[Line], lines: list[Line]
) -> None:
    with pool.use(), pool.use():
        pass
    with pool.use() as used:
        pool.close()
        assert used.open
    assert [line.open for line in lines] == [False, False]
    with pytest.raises(StoreError, match="is closed"):
        using(pool)


def test_a_child_process_may_not_use_it(
    pool: ConnectionPool[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 0)
    with pytest.raises(StoreError, match="opened by another process"):
        using(pool)


def using(pool: ConnectionPool[Line]) -> None:
    with pool.use():
        pass
