"""What is put is there at once, on disk and in every answer; what is deleted is gone."""

from pathlib import Path

import polars as pl
import pytest
from tests.service.http.conftest import Caller
from tests.service.live.test_store_follower import SMALL

from evichain import REC, Ratings
from evichain.answering.answers import recommend
from evichain.answering.asker import find_user
from evichain.errors import DataError
from evichain.ratings.side import Side
from evichain.service.http import ServiceSettings, create_app
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import Store, open_store
from evichain.testing import planted_blocks


def test_a_rating_is_durable_and_known_when_it_is_answered(
    ask: Caller, store: Store, model: REC
) -> None:
    for item in range(5):
        found = ask(
            "PUT",
            f"/v1/users/eve/ratings/{item}?refresh=true",
            json={"rating": 5, "timestamp": item},
        )
        assert found.status_code == 200
        assert found.json() == {
            "new": 1,
            "changed": 0,
            "unchanged": 0,
            "version": store.version(),
        }
    stored = store.ratings_of(Side.USER, "eve")
    assert [(row.item, row.rating, row.timestamp) for row in stored] == [
        (item, 5.0, item) for item in range(5)
    ]
    listed = ask("GET", "/v1/users/eve/recommendations?n=3").json()["recommendations"]
    fresh = StoreFollower(model, store).backend
    best = recommend(fresh, find_user(fresh, "eve"), 3)
    assert [entry["item"] for entry in listed] == [str(one.item) for one in best]
    estimates = [one.estimate for one in best]
    assert [entry["estimate"] for entry in listed] == pytest.approx(estimates, abs=1e-5)


def test_the_ratings_of_a_user_come_with_titles_and_times(ask: Caller) -> None:
    ask("PUT", "/v1/users/eve/ratings/1", json={"rating": 2, "timestamp": 7})
    ask("PUT", "/v1/users/eve/ratings/new", json={"rating": 4.5})
    found = ask("GET", "/v1/users/eve/ratings").json()
    assert found["user"] == "eve"
    first, second = found["ratings"]
    assert first == {"item": "1", "title": "Amélie (2001)", "rating": 2.0, "timestamp": 7}
    assert (second["item"], second["title"], second["rating"]) == ("new", "new", 4.5)
    assert second["timestamp"] > 1_700_000_000


def test_a_rating_is_in_the_next_answer(ask: Caller) -> None:
    listed = []
    for item in (0, 1):
        ask("PUT", f"/v1/users/eve/ratings/{item}", json={"rating": 1 + 4 * item})
        found = ask("GET", "/v1/users/eve/recommendations?n=9").json()["recommendations"]
        listed.append({one["item"]: one["estimate"] for one in found})
        assert str(item) not in listed[-1]
    assert listed[0] != listed[1]


def test_a_rating_is_deleted_and_a_user_erased(ask: Caller, store: Store) -> None:
    before = ask("GET", "/v1/users/3/recommendations?n=5").json()["recommendations"]
    ask("PUT", "/v1/users/eve/ratings/1", json={"rating": 2})
    ask("PUT", "/v1/users/eve/ratings/2?refresh=true", json={"rating": 2})
    assert ask("GET", "/v1/users/3/recommendations?n=5").json()["recommendations"] != before
    assert ask("DELETE", "/v1/users/eve/ratings/1").json()["deleted"] == 1
    assert ask("DELETE", "/v1/users/eve/ratings/1").json()["deleted"] == 0
    assert [row.item for row in store.ratings_of(Side.USER, "eve")] == [2]
    assert ask("DELETE", "/v1/users/eve").json()["deleted"] == 1
    assert ask("DELETE", "/v1/users/eve").json()["deleted"] == 0
    for path in ("ratings", "recommendations", "explanations/1"):
        assert ask("GET", f"/v1/users/eve/{path}").status_code == 404
    after = ask("GET", "/v1/users/3/recommendations?n=5").json()["recommendations"]
    for figure in ("estimate", "std"):
        expected = pytest.approx([one[figure] for one in before], abs=1e-5)
        assert [one[figure] for one in after] == expected


def test_many_ratings_are_put_all_or_none(ask: Caller, store: Store) -> None:
    rows = [{"user": "eve", "item": item, "rating": 3} for item in range(4)]
    assert ask("POST", "/v1/ratings", json={"ratings": rows}).json()["new"] == 4
    rows = [{"user": "bob", "item": "1", "rating": 3}, {"user": "bob", "item": "2", "rating": 9}]
    found = ask("POST", "/v1/ratings", json={"ratings": rows})
    assert found.status_code == 422
    assert "rating 2 is 9" in found.json()["detail"]
    assert store.ratings_of(Side.USER, "bob") == []
    pairs = [{"user": "eve", "item": item} for item in (0, 1, 99)]
    assert ask("POST", "/v1/ratings/delete", json={"ratings": pairs}).json()["deleted"] == 2


def test_more_than_a_batch_is_refused(ask: Caller) -> None:
    pairs = [{"user": "a", "item": "b"}] * 10_001
    assert ask("POST", "/v1/ratings/delete", json={"ratings": pairs}).status_code == 422


def test_pages_hold_everything_once(ask: Caller, store: Store) -> None:
    ask("PUT", "/v1/users/eve/ratings/new", json={"rating": 2})
    found: list[tuple[str, str]] = []
    path = "/v1/ratings?limit=400"
    after = ""
    while after is not None:
        page = ask("GET", path + (f"&after={after}" if after else "")).json()
        found += [(row["user"], row["item"]) for row in page["ratings"]]
        after = page["after"]
    assert len(found) == len(set(found)) == store.counts().ratings


@pytest.mark.parametrize(
    "after", ["x", "bm90IGpzb24=", "WzFd", "WzEsIDIsIDNd", "W1tdLCBbXV0=", "é"]
)
def test_a_cursor_that_is_none_is_refused(ask: Caller, after: str) -> None:
    assert ask("GET", "/v1/ratings", params={"after": after}).status_code == 422


def test_ids_may_hold_anything_that_the_store_takes(ask: Caller, store: Store) -> None:
    for user in ("a%2Fb", "%25", "a b", "%F0%9F%8E%AC", "x'; DROP TABLE ratings; --", "007"):
        path = f"/v1/users/{user}/ratings/5"
        assert ask("PUT", path, json={"rating": 2}).status_code == 200, user
    users = {row.user for row in store.ratings_of(Side.ITEM, 5) if isinstance(row.user, str)}
    assert users >= {"a/b", "%", "a b", "🎬", "x'; DROP TABLE ratings; --", "007"}
    assert ask("GET", "/v1/users/a%2Fb/ratings").json()["user"] == "a/b"
    assert ask("GET", "/v1/users/a%2Fb/recommendations").status_code == 200


def test_what_another_process_wrote_as_text_is_not_put_twice(ask: Caller, store: Store) -> None:
    store.put([("7777", 5, 2.0)])  # an integer, by the custom of this model
    assert ask("PUT", "/v1/users/7777/ratings/6", json={"rating": 3}).status_code == 200
    assert {row.item for row in store.ratings_of(Side.USER, "7777")} == {5, 6}
    assert store.ratings_of(Side.USER, 7777) == []


@pytest.mark.parametrize("refresh", ["false", "true"])
def test_what_is_wrong_in_the_store_is_not_the_fault_of_who_writes(
    ask: Caller, live: StoreFollower, store: Store, refresh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise DataError("users 41 and '41' are two", right="Delete one of them.")

    monkeypatch.setattr(live, "refresh" if refresh == "true" else "catch_up", broken)
    found = ask("PUT", f"/v1/users/eve/ratings/6?refresh={refresh}", json={"rating": 3})
    assert found.status_code == 503
    assert found.headers["retry-after"]
    assert "41" not in found.json()["detail"]
    assert "may have happened" in found.json()["detail"]
    assert len(store.ratings_of(Side.USER, "eve")) == 1


@pytest.fixture(scope="module")
def fractional() -> REC:
    """A model of ratings from 0.1 to 3.7, neither of which 32 bits hold exactly."""
    whole = planted_blocks().frame
    frame = whole.with_columns(rating=(0.9 * pl.col("rating").cast(pl.Float64) - 0.8).round(1))
    return REC(**SMALL).fit(Ratings(frame.cast({"rating": pl.Float32})))


def test_the_ends_of_a_scale_are_on_it_in_decimals_too(
    fractional: REC, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_store(tmp_path / "fractional.db") as store:
        store.import_ratings(fractional.graph.to_ratings())
        live = StoreFollower(fractional, store)
        scale = live.snapshot.scale
        assert scale.low > 0.1
        assert scale.high != 3.7
        ask = Caller(create_app(live, ServiceSettings(feedback_rating=0.1, timeout=600)))
        rated = [{"item": "0", "rating": 0.1}, {"item": "1", "rating": 3.7}]
        body = {"ratings": rated, "item": "2"}
        assert ask("POST", "/v1/explanations", json=body).status_code == 200
        for one in rated:
            path = f"/v1/users/eve/ratings/{one['item']}"
            assert ask("PUT", path, json={"rating": one["rating"]}).status_code == 200
        for rating in (0.09, 3.71, 1e300):
            assert ask("PUT", "/v1/users/eve/ratings/2", json={"rating": rating}).status_code == 422
        assert [row.rating for row in store.ratings_of(Side.USER, "eve")] == [0.1, 3.7]
        ask("POST", "/api/feedback", json=[{"UserId": "bob", "ItemId": "1"}])
        assert [row.rating for row in store.ratings_of(Side.USER, "bob")] == [0.1]
    assert "scale" not in caplog.text
    assert fractional.recommend([(0, 0.1), (1, 3.7)], 3)
