"""A live engine beside a store: what is written there is known here."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from evichain import REC
from evichain.answering.answers import predict
from evichain.answering.asker import find_user
from evichain.ratings.ids import Id
from evichain.ratings.side import Side
from evichain.service.http.logs import JsonLines, PlainLines
from evichain.service.live import store_follower
from evichain.service.live.engine import LiveEngine
from evichain.service.live.snapshot import Snapshot
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import Store, open_store
from evichain.testing import planted_blocks

SMALL: dict[str, Any] = {
    "iterations": 10,
    "embedding_size": 4,
    "key_size": 4,
    "channel_size": 4,
    "width": 8,
    "evidence_limit": 16,
    "prototype_users": 8,
    "prototype_items": 8,
    "validation": 0.0,
    "patience": 0,
}


@pytest.fixture(scope="module")
def model() -> REC:
    return REC(**SMALL).fit(planted_blocks())


@pytest.fixture
def store(tmp_path: Path, model: REC) -> Store:
    opened = open_store(str(tmp_path / "ratings.db"))
    opened.import_ratings(model.graph.to_ratings())
    return opened


def estimates(snapshot: Snapshot, user: Id, items: range) -> np.ndarray:
    return predict(snapshot, find_user(snapshot, user, required=False), items).estimates


def test_begins_where_the_store_is(model: REC, store: Store) -> None:
    found = estimates(StoreFollower(model, store).snapshot, 3, range(10))
    expected = model.predict(3, list(range(10))).estimates
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_rating_is_known_at_once_and_the_same_after_a_restart(model: REC, store: Store) -> None:
    live = StoreFollower(model, store)
    before = estimates(live.snapshot, "eve", range(8))
    for item, rating in ((0, 5.0), (1, 1.0), (2, 5.0)):
        store.put([("eve", item, rating)])
        live.catch_up()
    at_once = estimates(live.snapshot, "eve", range(8))
    assert np.abs(at_once - before).max() > 1e-3
    after = estimates(live.refresh(), "eve", range(8))
    assert np.abs(after - before).max() > 1e-3
    np.testing.assert_allclose(
        after, estimates(StoreFollower(model, store).snapshot, "eve", range(8)), atol=1e-5
    )
    assert live.recent.count == 3
    store.erase("eve")
    live.refresh()
    np.testing.assert_allclose(estimates(live.snapshot, "eve", range(8)), before, atol=1e-5)


def test_what_is_off_the_scale_in_a_store_counts_as_its_ends(
    model: REC, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    live = StoreFollower(model, store)
    for rating in (5.0, 77.0):
        store.put([("eve", 0, rating)])
        found = estimates(live.refresh(), "eve", range(8))
        again = estimates(StoreFollower(model, store).snapshot, "eve", range(8))
        np.testing.assert_allclose(again, found, atol=1e-5)
        if rating == 5.0:
            expected = found
            assert not caplog.records
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert all("off the model's scale" in record.message for record in caplog.records)
    assert len(caplog.records) == 2
    for record in caplog.records:
        assert PlainLines().format(record).endswith("ratings=1 low=1.0 high=5.0")
        told = json.loads(JsonLines().format(record))
        assert (told["ratings"], told["low"], told["high"]) == (1, 1.0, 5.0)


def test_follows_what_others_write(model: REC, store: Store, tmp_path: Path) -> None:
    live = StoreFollower(model, store)
    live.start()
    try:
        with open_store(str(tmp_path / "ratings.db")) as other:
            other.put([(3, 77, 4.0)])
            other.put_titles({77: "A new film"})
            version = other.version()
        while live.snapshot.refreshed_version < version:
            time.sleep(0.01)
    finally:
        live.stop()
    assert live.snapshot.index(Side.ITEM, 77) >= 0
    np.testing.assert_allclose(
        estimates(live.snapshot, 3, range(78)),
        estimates(StoreFollower(model, store).snapshot, 3, range(78)),
        atol=1e-5,
    )
    assert live.titles.search("new", 5, lambda item: 0) == [77]


def test_many_may_write_and_read_while_all_follows(model: REC, store: Store) -> None:
    live, done = StoreFollower(model, store), Event()
    live.start()

    def write(who: int) -> None:
        draw = np.random.default_rng(who)
        for _ in range(25):
            user, item = int(draw.integers(6)), int(draw.integers(40, 50))
            match draw.integers(5):
                case 0:
                    store.delete([(user, item)])
                case 1:
                    store.erase(f"guest {user}")
                case _:
                    store.put(
                        [(user, item, float(draw.integers(1, 6))), (f"guest {user}", item, 3)]
                    )
            before = store.version()
            found = live.catch_up() if who else live.refresh()
            assert found.version >= before
            assert who or found.refreshed_version >= before

    def read() -> None:
        last = live.snapshot
        while not done.is_set():
            found = live.snapshot
            assert last.version <= found.version
            assert last.refreshed_version <= found.refreshed_version <= found.version
            assert np.isfinite(estimates(found, 3, range(50))).all()
            last = found

    try:
        with ThreadPoolExecutor(5) as threads:
            readers = [threads.submit(read) for _ in range(2)]
            writers = [threads.submit(write, who) for who in range(3)]
            try:
                for writer in writers:
                    writer.result()
            finally:
                done.set()
            for reader in readers:
                reader.result()
        while live.snapshot.refreshed_version < store.version():
            time.sleep(0.01)
    finally:
        live.stop()
    found, fresh = live.snapshot, StoreFollower(model, store).snapshot
    for user in (0, 3, "guest 1"):
        np.testing.assert_allclose(
            estimates(found, user, range(50)), estimates(fresh, user, range(50)), atol=1e-5
        )


def test_stops_whatever_it_is_at(model: REC, store: Store) -> None:
    for number in range(20):
        live = StoreFollower(model, store)
        live.start()
        store.put([(3, number, 1.0)])
        live.catch_up()
        live.stop()


def test_tells_of_every_version(model: REC, store: Store) -> None:
    live, told = StoreFollower(model, store), list[tuple[int, int]]()
    live.on_change = lambda snapshot: told.append((snapshot.version, snapshot.refreshed_version))
    before = live.snapshot.version
    store.put([(3, 5, 1.0)])
    live.catch_up()
    live.refresh()
    assert told == [(before + 1, before), (before + 1, before + 1)]


def test_tells_of_what_was_built_anew_and_never_again_of_what_that_replaced(
    model: REC, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, told, refresh = StoreFollower(model, store), list[tuple[int, int]](), LiveEngine.refresh
    live.on_change = lambda snapshot: told.append((snapshot.version, snapshot.refreshed_version))
    before = live.snapshot.version

    def overtaken(engine: LiveEngine) -> Snapshot:
        refreshed = refresh(engine)
        store.put([("zoe", 5, 1.0)])
        store.trim(store.version() + 1)
        live.catch_up()
        return refreshed

    monkeypatch.setattr(LiveEngine, "refresh", overtaken)
    store.put([(3, 5, 1.0)])
    live.refresh()
    assert told == [(before + 1, before), (before + 2, before + 2)]


def test_starts_again_when_the_log_was_trimmed(model: REC, store: Store) -> None:
    live = StoreFollower(model, store)
    store.put([(3, 5, 1.0), ("zoe", 5, 1.0)])
    store.trim(store.version() + 1)
    assert live.catch_up().version == store.version()
    assert live.snapshot.index(Side.USER, "zoe") >= 0


def test_notices_a_store_that_went_back(
    model: REC, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does that is put back from a back-up, for a backend that keeps its connections."""
    before = store.version()
    store.put([("zoe", 5, 1.0)])
    live = StoreFollower(model, store)
    assert live.snapshot.version == before + 1
    with store._write_transaction() as session:
        for statement in (
            "DELETE FROM evichain_ratings WHERE user_text = 'zoe'",
            "DELETE FROM evichain_changes WHERE user_text = 'zoe'",
            "UPDATE evichain_state SET version = version - 1",
        ):
            session.change(statement)
    monkeypatch.setattr(store_follower, "_WAIT", 0.01)
    live.start()
    try:
        deadline = time.monotonic() + 60
        while live.snapshot.version != before and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        live.stop()
    assert live.snapshot.version == before
    assert live.snapshot.index(Side.USER, "zoe") < 0


def test_begins_with_nothing(model: REC, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "empty.db")) as store:
        live = StoreFollower(model, store)
        assert live.snapshot.index(Side.USER, 3) < 0
        store.put([(user, item, 4.0) for user in range(4) for item in range(5)])
        live.refresh()
        fresh = StoreFollower(model, store).snapshot
        np.testing.assert_allclose(
            estimates(live.snapshot, 2, range(7)), estimates(fresh, 2, range(7)), atol=1e-5
        )


def test_ids_keep_to_the_kind_of_their_side(model: REC, store: Store) -> None:
    live = StoreFollower(model, store)
    assert live.native(Side.USER, "3") == 3
    assert live.native(Side.USER, "9999") == 9999
    assert live.native(Side.USER, "03") == "03"
    assert live.native(Side.ITEM, "tt0111161") == "tt0111161"


def test_ids_keep_their_kind_when_others_of_their_side_are_text(model: REC, store: Store) -> None:
    store.put([("eve", 1, 3.0)])
    live = StoreFollower(model, store)
    assert live.native(Side.USER, "3") == 3
    assert live.native(Side.USER, "eve") == "eve"
    store.put([(live.native(Side.USER, "3"), 1, 4.0)])
    live.catch_up()
    assert StoreFollower(model, store).snapshot.version == store.version()


def test_goes_on_following_after_a_fault(
    model: REC, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, wait, failed = StoreFollower(model, store), store.wait, Event()

    def broken_once(version: int, timeout: float) -> int:
        if not failed.is_set():
            failed.set()
            raise ValueError
        return wait(version, timeout)

    monkeypatch.setattr(store, "wait", broken_once)
    monkeypatch.setattr(store_follower, "_WAIT", 0.01)
    live.start()
    try:
        failed.wait()
        store.put([(3, 77, 4.0)])
        while live.snapshot.version < store.version():
            time.sleep(0.01)
    finally:
        live.stop()
    assert live.snapshot.index(Side.ITEM, 77) >= 0
