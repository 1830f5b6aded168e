"""What is particular to a store in PostgreSQL."""

import logging
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.postgres import PASSWORD, Server, running_server

from evichain.errors import StoreError, StoreUnavailableError
from evichain.service.store import Rating, Store, connection_pool, open_store


@pytest.fixture
def url(postgres: Server) -> str:
    return postgres.fresh()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


def test_while_the_server_is_down_and_after_it_came_back(store: Store, postgres: Server) -> None:
    store.put([("before", 1, 1)])
    version = store.wait(0, 1)
    postgres.stop()
    try:
        for call in (
            lambda: store.put([("meanwhile", 1, 1)]),
            lambda: store.erase("before"),
            store.version,
            store.counts,
            lambda: store.wait(version, 1),
            lambda: list(store.scan()),
        ):
            with pytest.raises(StoreUnavailableError) as caught:
                call()
            assert store.name in str(caught.value)
    finally:
        postgres.start()
    # The very first call finds it: nothing waits for a pause to end.
    store.put([("after", 1, 1)])
    assert [rating.user for rating in store.page().ratings] == ["after", "before"]
    assert store.wait(version, 1) > version


def test_after_a_restart_no_idle_connection_is_in_the_way(store: Store, postgres: Server) -> None:
    with store._single_reads(), store._single_reads(), store._single_reads():
        pass
    postgres.stop()
    postgres.start()
    for item in range(4):
        store.put([(1, item, 1)])
    assert store.counts().ratings == 4


def test_a_write_that_is_cut_off_is_there_wholly_or_not_at_all(
    store: Store, postgres: Server
) -> None:
    def cut() -> None:
        with store._write_transaction() as session:
            session.advance(2)
            session.change_each(
                "INSERT INTO evichain_ratings VALUES ('', ?, '', 1, 1, NULL, 1)", [(1,), (2,)]
            )
            postgres.stop()
            postgres.start()

    with pytest.raises(StoreUnavailableError):
        cut()
    assert store.counts().ratings == 0
    assert store.version() == 0


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    for url in (f"postgresql://ann:hidden@/films?host={tmp_path}", "postgresql://localhost:1/x"):
        with pytest.raises(StoreUnavailableError, match="cannot be used") as caught:
            open_store(url)
        assert "hidden" not in "".join(traceback.format_exception(caught.value))


def test_a_wrong_password_is_refused_and_not_told(
    postgres: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = "wrong-and-secret"
    address = postgres.url(user=f"guarded:{wrong}")
    with pytest.raises(StoreUnavailableError, match="password authentication failed") as caught:
        open_store(address)
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert wrong not in told


def test_a_right_password_is_shown_nowhere(
    postgres: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    postgres.execute("CREATE SCHEMA IF NOT EXISTS guarded AUTHORIZATION guarded")
    address = postgres.url(user=f"guarded:{PASSWORD}", schema="guarded")
    with open_store(address) as store:
        store.put([(1, 1, 1)])
        shown = [repr(store), str(store), store.name, repr(store.__class__)]
        with pytest.raises(StoreError) as caught, store._single_reads() as session:
            session.rows("SELECT nothing")
    shown += [str(caught.value), "".join(traceback.format_exception(caught.value)), caplog.text]
    assert not [text for text in shown if PASSWORD in text]


def test_a_role_without_rights_is_told(postgres: Server) -> None:
    postgres.execute("CREATE SCHEMA closed")
    postgres.execute("GRANT USAGE ON SCHEMA closed TO guarded")
    with pytest.raises(StoreError, match="permission denied") as caught:
        open_store(postgres.url(user=f"guarded:{PASSWORD}", schema="closed"))
    assert "must own the tables" in caught.value.right


def test_a_database_that_is_not_there(postgres: Server) -> None:
    with pytest.raises(StoreUnavailableError, match='database "nowhere" does not exist'):
        open_store(postgres.url(database="nowhere"))


def test_a_database_that_has_not_all_letters(postgres: Server) -> None:
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(StoreError, match="a database in LATIN1"):
        open_store(postgres.url(database="latin"))


def test_without_create_no_table_is_made(url: str) -> None:
    with pytest.raises(StoreError, match="the database contains no store"):
        open_store(url, create=False)
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT to_regclass('evichain_state')").fetchone()
    assert found == (None,)


def test_acknowledged_means_on_disk_whatever_the_server_says(postgres: Server) -> None:
    postgres.execute("ALTER ROLE guarded SET synchronous_commit = off")
    postgres.execute("CREATE SCHEMA IF NOT EXISTS guarded AUTHORIZATION guarded")
    address = postgres.url(user=f"guarded:{PASSWORD}", schema="guarded")
    with open_store(address) as store, store._single_reads() as session:
        assert session.rows("SHOW synchronous_commit") == [("on",)]
    postgres.execute("ALTER ROLE guarded SET synchronous_commit = remote_write")
    with open_store(address) as store, store._single_reads() as session:
        assert session.rows("SHOW synchronous_commit") == [("remote_write",)]


def test_whatever_the_server_is_set_to(postgres: Server) -> None:
    postgres.execute("ALTER ROLE guarded SET default_transaction_isolation = 'serializable'")
    postgres.execute("ALTER ROLE guarded SET extra_float_digits = 0")
    postgres.execute("CREATE SCHEMA odd AUTHORIZATION guarded")
    address = postgres.url(user=f"guarded:{PASSWORD}", schema="odd")
    with open_store(address) as one, open_store(address) as other:
        one.put([(1, 1, 0.63696172)])
        assert one.put([(1, 1, 0.63696172)]).unchanged == 1
        threads = [
            threading.Thread(target=store.put, args=[[(user, 1, 1)]])
            for user in range(20)
            for store in (one, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.counts().ratings == 20


def test_without_a_server_tests_are_skipped_or_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "postgres.sh"
    script.write_text("#!/bin/sh\necho install it >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr("tests.programs.SCRIPTS", tmp_path)
    for required in ("CI", "EVICHAIN_REQUIRE_POSTGRES"):
        monkeypatch.delenv(required, raising=False)
    with pytest.raises(pytest.skip.Exception, match="install it"), running_server():
        pass
    for required in ("CI", "EVICHAIN_REQUIRE_POSTGRES"):
        with monkeypatch.context() as patch:
            patch.setenv(required, "1")
            with pytest.raises(pytest.fail.Exception, match="install it"), running_server():
                pass


def test_a_commit_is_notified(store: Store, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("LISTEN evichain")
        store.put([(1, 1, 1)])
        heard = list(connection.notifies(timeout=60, stop_after=1))
    assert [notice.channel for notice in heard] == ["evichain"]


def test_more_threads_than_connections(store: Store) -> None:
    assert connection_pool.WAIT_SECONDS > 1
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for item in range(5):
                store.put([(number, item, 1)])
                assert store.get(number, item) == Rating(number, item, 1.0)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert store.counts().ratings == 160
