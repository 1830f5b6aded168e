"""Opening a store that is new, of another version, or being written to."""

import threading

import pytest

from evichain.errors import StoreError, StoreUnavailableError
from evichain.service.store import Rating, Store, open_store, schema


def test_a_newer_schema_is_refused(store: Store, url: str) -> None:
    with store._write_transaction() as session:
        session.change("UPDATE evichain_state SET schema = 99")
    with pytest.raises(StoreError, match="has schema 99") as caught:
        open_store(url)
    assert caught.value.right == "Upgrade evichain."


def test_an_older_schema_is_brought_up_to_date(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put([(1, 1, 1)])
    module = f"evichain.service.store.{'sqlite' if 'sqlite' in url else 'postgres'}"
    later = ("CREATE TABLE evichain_more (a integer)",)
    monkeypatch.setattr(f"{module}._STEPS", (("not taken again",), later))
    for name in (
        "evichain.service.store.schema.SCHEMA",
        "evichain.service.store.sqlite.SCHEMA",
    ):
        monkeypatch.setattr(name, 2)
    for _ in range(2):
        with open_store(url) as newer, newer._single_reads() as session:
            assert session.rows("SELECT a FROM evichain_more") == []
            assert schema.schema_of(session) == 2
            assert newer.get(1, 1) == Rating(1, 1, 1.0)


def test_many_open_a_new_store_at_once(url: str) -> None:
    stores: list[Store] = []
    threads = [threading.Thread(target=lambda: stores.append(open_store(url))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores) == 8
    for number, store in enumerate(stores):
        store.put([(number, 1, 1)])
    assert [store.version() for store in stores] == [8] * 8
    for store in stores:
        store.close()


def test_a_store_that_others_write_to_is_busy_for_writers_only(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evichain.service.store.sqlite.WAIT_SECONDS", 0.05)
    monkeypatch.setattr("evichain.service.store.postgres._LOCK_TIMEOUT", "50ms")
    with store._write_transaction() as session:
        session.advance(1)
        with open_store(url) as other:
            with pytest.raises(StoreUnavailableError, match="is busy"):
                other.put([(1, 1, 1)])
            assert other.counts().ratings == 0
            assert list(other.scan()) == []
    with open_store(url) as other:
        other.put([(1, 1, 1)])
    assert store.get(1, 1) == Rating(1, 1, 1.0)
