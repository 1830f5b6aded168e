"""The store goes away and comes back: 503 meanwhile, then all is well by itself."""

import time

import httpx
from tests.postgres import Server
from tests.service.http.serving import serving
from tests.service.http.test_hostile import check_problem

from evichain import REC
from evichain.ratings.side import Side
from evichain.service.http import ServiceSettings, create_app
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import open_store


def test_the_database_goes_away_and_comes_back(model: REC, postgres: Server) -> None:
    with open_store(postgres.fresh()) as store:
        store.import_ratings(model.graph.to_ratings())
        live = StoreFollower(model, store)
        with (
            serving(create_app(live, ServiceSettings(timeout=60))) as address,
            httpx.Client(base_url=address, timeout=None) as client,
        ):
            path = "/v1/users/eve/ratings/1"
            assert client.put(path, json={"rating": 5}).status_code == 200
            assert client.get("/health/ready").status_code == 200
            listed = client.get("/v1/users/3/recommendations").json()
            postgres.stop()
            try:
                for found in (
                    client.put(path, json={"rating": 4}),
                    client.delete(path),
                    client.get("/v1/users/eve/ratings"),
                    client.get("/v1/ratings"),
                    client.get("/v1/export"),
                    client.post("/api/feedback", json=[{"UserId": "a", "ItemId": "b"}]),
                ):
                    told = check_problem(found, 503)
                    assert int(found.headers["retry-after"]) >= 1
                    assert "postgres" not in told["detail"]
                while client.get("/health/ready").status_code == 200:
                    time.sleep(0.1)
                check_problem(client.get("/health/ready"), 503)
                assert client.get("/health/live").status_code == 200
                # What needs no store is answered all the while.
                assert client.get("/v1/users/3/recommendations").json() == listed
                for question in ("recommendations?reasons=true", "explanations/1"):
                    assert client.get(f"/v1/users/3/{question}").status_code == 200
            finally:
                postgres.start()
            while client.get("/health/ready").status_code != 200:
                time.sleep(0.1)
            assert client.put(path, json={"rating": 3}).status_code == 200
            assert [row.rating for row in store.ratings_of(Side.USER, "eve")] == [3.0]
            assert client.get("/v1/users/eve/ratings").json()["ratings"][0]["rating"] == 3.0
