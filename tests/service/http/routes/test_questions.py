"""Recommendations, predictions, items, explanations: over HTTP as in process."""

import csv
import io
import json
from pathlib import Path

import pytest
from fastapi import FastAPI
from tests.service.http.conftest import PATIENT, Caller
from tests.service.http.test_hostile import check_problem

from evichain import REC
from evichain.answering import answers
from evichain.answering.asker import find_user, make_guest
from evichain.evidence.trace import Trace
from evichain.ratings.side import Side
from evichain.service.http import create_app
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import Store, open_store
from evichain.testing import planted_blocks
from evichain.testing.traces import check_trace

RATED = [{"item": "0", "rating": 5}, {"item": 1, "rating": 1}, {"item": "2", "rating": 4}]
PAIRS = [("0", 5.0), ("1", 1.0), ("2", 4.0)]


def test_recommends_what_the_model_does(ask: Caller, live: StoreFollower) -> None:
    backend = live.backend
    found = ask("GET", "/v1/users/3/recommendations?n=4&reasons=true&caution=0.5").json()
    expected = answers.recommend(backend, find_user(backend, "3"), 4, caution=0.5, reasons=True)
    assert [entry["item"] for entry in found["recommendations"]] == [
        str(one.item) for one in expected
    ]
    for entry, one in zip(found["recommendations"], expected, strict=True):
        assert entry["estimate"] == pytest.approx(one.estimate)
        assert (entry["reason"] or {}).get("item") == (one.reason and str(one.reason.item))
    assert found["version"] == live.snapshot.version


def test_caution_is_refused_where_there_are_no_deviations(tmp_path: Path) -> None:
    settings = {"iterations": 3, "embedding_size": 4, "width": 8, "validation": 0.0, "patience": 0}
    model = REC("paper", prototype_users=8, prototype_items=8, **settings).fit(planted_blocks())
    with open_store(tmp_path / "a.db") as store:
        store.import_ratings(model.graph.to_ratings())
        ask = Caller(create_app(StoreFollower(model, store), PATIENT))
        for caution, status in ((0, 200), (0.5, 422)):
            path = f"/v1/users/3/recommendations?caution={caution}"
            body = {"ratings": RATED, "caution": caution}
            for found in (ask("GET", path), ask("POST", "/v1/recommendations", json=body)):
                assert found.status_code == status
        assert "no standard deviations" in check_problem(found, 422)["detail"]


def test_recommends_to_anyone_and_stores_nothing(ask: Caller, live: StoreFollower) -> None:
    before = live.store.version()
    body = {"ratings": RATED, "n": 5, "reasons": True, "without": ["1"]}
    found = ask("POST", "/v1/recommendations", json=body).json()["recommendations"]
    backend = live.backend
    expected = answers.recommend(backend, make_guest(backend, PAIRS, without=["1"]), 5)
    assert [entry["item"] for entry in found] == [str(one.item) for one in expected]
    assert {"0", "1", "2"}.isdisjoint(entry["item"] for entry in found)
    assert live.store.version() == before


def test_what_is_seen_is_included_when_asked_for(ask: Caller) -> None:
    everything = ask("POST", "/v1/recommendations", json={"ratings": RATED, "n": 1000})
    seen = ask(
        "POST", "/v1/recommendations", json={"ratings": RATED, "n": 1000, "include_seen": True}
    )
    assert len(seen.json()["recommendations"]) == len(everything.json()["recommendations"]) + 3


def test_predicts_what_the_model_does(ask: Caller, live: StoreFollower) -> None:
    backend = live.backend
    for found, asker in (
        (ask("GET", "/v1/users/3/predictions?item=4&item=zz"), find_user(backend, "3")),
        (
            ask("POST", "/v1/predictions", json={"ratings": RATED, "items": [4, "zz"]}),
            make_guest(backend, PAIRS),
        ),
    ):
        first, second = found.json()["predictions"]
        expected = answers.predict(backend, asker, ["4"])[0]
        assert first["estimate"] == pytest.approx(expected.estimate)
        assert first["interval"] == pytest.approx(list(expected.interval() or ()))
        assert first["reason"] is None
        assert second["reason"] == "unknown item 'zz'"


def test_items_are_found_named_and_compared(ask: Caller, live: StoreFollower) -> None:
    assert ask("GET", "/v1/items?search=AMELIE").json()["items"][0]["id"] == "1"
    found = ask("GET", "/v1/items/0").json()
    assert found["title"] == "Alien (1979)"
    assert 1 <= found["mean"] <= 5
    named = ask("PUT", "/v1/items/77", json={"title": "A new film"}).json()
    assert named == {"id": "77", "title": "A new film", "ratings": 0}
    assert ask("GET", "/v1/items/77").json()["mean"] is None
    assert ask("GET", "/v1/items?search=new+film").json()["items"] == [named]
    assert ask("PUT", "/v1/items/77", json={"title": None}).json()["title"] == "77"
    assert ask("GET", "/v1/items/77").status_code == 404
    alike = ask("GET", "/v1/items/0/similar?n=3").json()["similar"]
    assert [entry["item"] for entry in alike] == [
        str(one.item) for one in answers.similar_items(live.backend, "0", 3)
    ]
    assert ask("GET", "/v1/items/zz/similar").status_code == 404


def test_items_without_a_search_are_the_popular_ones(ask: Caller) -> None:
    found = ask("GET", "/v1/items?n=1000").json()["items"]
    counts = [entry["ratings"] for entry in found]
    assert counts == sorted(counts, reverse=True)
    assert len(found) == ask("GET", "/v1/overview").json()["items"]


def test_an_item_that_was_popular_a_moment_ago_is_left_out(ask: Caller, store: Store) -> None:
    before = [entry["id"] for entry in ask("GET", "/v1/items?n=1000").json()["items"]]
    gone = next(item for item in before if item not in ("0", "1"))  # One without a title.
    pairs = [(row.user, row.item) for row in store.ratings_of(Side.ITEM, int(gone))]
    body = {"ratings": [{"user": user, "item": item} for user, item in pairs]}
    ask("POST", "/v1/ratings/delete", json=body)
    found = ask("GET", "/v1/items?n=5").json()["items"]
    assert [entry["id"] for entry in found] == [item for item in before if item != gone][:5]


def test_popular_items_are_the_same_after_everything_was_built_anew(
    ask: Caller, store: Store, live: StoreFollower
) -> None:
    expected = ask("GET", "/v1/items?n=1000").json()["items"]
    store.delete([(row.user, row.item) for row in store.ratings_of(Side.ITEM, 0)])
    store.trim(store.version() + 1)
    live.catch_up()
    found = ask("GET", "/v1/items?n=1000").json()["items"]
    assert found == [entry for entry in expected if entry["id"] != "0"]


def test_explains_in_three_formats(ask: Caller) -> None:
    found = ask("GET", "/v1/users/3/explanations/5?pieces=3&depth=2").json()
    check_trace(Trace.from_dict(found))
    assert found["user"]["id"] == "3"
    assert all(isinstance(piece["id"], str) for piece in found["item"]["pieces"])
    text = ask("GET", "/v1/users/3/explanations/5?format=text")
    assert text.headers["content-type"].startswith("text/plain")
    assert "would rate" in text.text
    picture = ask("POST", "/v1/explanations", json={"ratings": RATED, "item": "5", "format": "svg"})
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert picture.text.startswith("<svg")
    assert "sandbox" in picture.headers["content-security-policy"]


def test_what_is_unknown_is_not_explained(ask: Caller) -> None:
    for path in ("/v1/users/3/explanations/nope", "/v1/users/nobody/explanations/5"):
        assert "unknown" in check_problem(ask("GET", path), 404)["detail"]
    told = ask("POST", "/v1/explanations", json={"ratings": RATED, "item": "nope"})
    assert "unknown item" in check_problem(told, 404)["detail"]


def test_without_a_chain_there_are_no_contributions_of_any_kind(ask: Caller) -> None:
    ask("PUT", "/v1/items/77", json={"title": "A new film"})
    found = ask("GET", "/v1/users/3/explanations/77").json()
    assert (found["kind"], found["item"]["title"]) == ("none", "A new film")
    assert found["reason"]
    assert ask("GET", "/v1/users/3/explanations/5").json()["kind"] == "removal"


def test_evidence_can_be_switched_off(ask: Caller) -> None:
    body = {"ratings": RATED, "item": "5", "pieces": 20}
    whole = ask("POST", "/v1/explanations", json=body).json()
    less = ask("POST", "/v1/explanations", json={**body, "without": ["1"]}).json()
    assert {piece["id"] for piece in whole["user"]["pieces"]} == {"0", "1", "2"}
    assert {piece["id"] for piece in less["user"]["pieces"]} == {"0", "2"}
    never = ask("POST", "/v1/explanations", json={**body, "ratings": [RATED[0], RATED[2]]}).json()
    assert less["estimate"] == pytest.approx(never["estimate"])


def test_exports_everything(ask: Caller, store: Store) -> None:
    ask("PUT", "/v1/users/eve/ratings/new", json={"rating": 4.5, "timestamp": 3})
    expected = {
        (str(r.user), str(r.item), r.rating, r.timestamp) for r in store.page(10_000).ratings
    }
    lines = ask("GET", "/v1/export?format=ndjson").text.splitlines()
    rows = map(json.loads, lines)
    assert {
        (str(r["user_id"]), str(r["item_id"]), r["rating"], r["timestamp"]) for r in rows
    } == expected
    table = csv.DictReader(io.StringIO(ask("GET", "/v1/export").text))
    assert {
        (
            row["user_id"],
            row["item_id"],
            float(row["rating"]),
            int(row["timestamp"]) if row["timestamp"] else None,
        )
        for row in table
    } == expected


def test_an_export_gives_its_place_back(ask: Caller) -> None:
    for _ in range(5):
        assert ask("GET", "/v1/export").status_code == 200


def test_the_overview_counts(ask: Caller, store: Store, live: StoreFollower) -> None:
    ask("GET", "/v1/users/3/recommendations")
    ask("PUT", "/v1/users/eve/ratings/new", json={"rating": 4})
    ask("DELETE", "/v1/users/3")
    found, counts = ask("GET", "/v1/overview").json(), store.counts()
    assert (found["ratings"], found["users"], found["items"]) == counts[:3]
    assert found["version"] == store.version()
    assert found["recent_ratings"] == 1
    assert found["recent_rmse"] > 0
    assert found["scale"] == {"low": 1.0, "high": 5.0, "levels": [1.0, 5.0]}
    assert found["latency_p50_ms"] <= found["latency_p99_ms"]
    assert found["parameters"] == sum(p.numel() for p in live.snapshot.chain.parameters())


def test_health_and_metrics(ask: Caller) -> None:
    assert (
        ask("GET", "/health/live").json() == ask("GET", "/health/ready").json() == {"status": "ok"}
    )
    ask("GET", "/v1/users/some-body/recommendations")
    text = ask("GET", "/metrics").text
    route = 'route="/v1/users/{user}/recommendations"'
    assert f'evichain_requests_total{{method="GET",{route},status="404"}} 1.0' in text
    assert "some-body" not in text


def test_the_page_is_served_with_a_strict_policy(ask: Caller, app: FastAPI) -> None:
    page = ask("GET", "/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert ask("GET", "/static/index.html").text == page.text
    for name in ("%2e%2e/http/app.py", "..%2Fhttp%2Fapp.py", "/etc/passwd", "nothing.js", ""):
        assert ask("GET", f"/static/{name}").status_code == 404
    for path in ("/docs", "/redoc"):
        assert ask("GET", path).status_code == 404
