"""The application as a whole, where no route is in question."""

from pathlib import Path

from tests.service.http.conftest import Caller

from evichain import REC
from evichain.service.http import create_app
from evichain.service.http.server import fill
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import open_store


def test_an_empty_store_is_filled_once(model: REC, tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store:
        assert fill(store, model) == len(model.graph)
        assert fill(store, model) == 0
        assert store.counts().ratings == len(model.graph)


def test_an_empty_store_has_answers_too(model: REC, tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store:
        ask = Caller(create_app(StoreFollower(model, store)))
        assert ask("GET", "/v1/overview").json()["ratings"] == 0
        assert ask("GET", "/v1/users/3/recommendations").status_code == 404
        assert (
            ask("POST", "/v1/recommendations", json={"ratings": []}).json()["recommendations"] == []
        )
        assert ask("GET", "/v1/items").json() == {"items": []}
        assert ask("GET", "/v1/export").text == "user_id,item_id,rating,timestamp\n"
        assert ask("GET", "/api/recommend/3").json() == []
        assert ask("GET", "/metrics").status_code == 200
        assert ask("PUT", "/v1/users/3/ratings/5", json={"rating": 4}).json()["new"] == 1
        assert ask("GET", "/v1/users/3/recommendations").status_code == 200
