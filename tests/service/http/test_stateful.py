"""Whatever was written, and however often it started again, a server answers as a fresh one does.

End to end: requests through the application, on a real store of either kind.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.service.http.conftest import PATIENT, Caller

from evichain import REC
from evichain.ratings.table import Ratings
from evichain.service.http import create_app
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import Store, open_store

USERS = ["0", "1", "2", "7", "59", "eve", "zoe"]
ITEMS = ["0", "1", "2", "3", "4", "5", "30", "new", "newer"]
GUEST = {"ratings": [{"item": "0", "rating": 5}, {"item": "new", "rating": 1}], "items": ITEMS}

users, items = st.sampled_from(USERS), st.sampled_from(ITEMS)
levels = st.integers(1, 5)
rows = st.fixed_dictionaries({"user": users, "item": items, "rating": levels})
pairs = st.fixed_dictionaries({"user": users, "item": items})


class Service(RuleBasedStateMachine):
    """A service on a store, beside a plain dict of what was written and not taken back."""

    model: REC
    fresh: Callable[[], str]

    def __init__(self) -> None:
        super().__init__()
        self.url = self.fresh()
        self.store: Store = open_store(self.url)
        table = self.model.graph.to_ratings()
        # Few enough that a rating more or less is evidence to many.
        self.store.import_ratings(Ratings.from_frame(table.frame.gather_every(3)))
        self.changed: dict[tuple[str, str], float | None] = {}
        self.settings = PATIENT

    @initialize(strict=st.booleans())
    def begin(self, strict: bool) -> None:
        self.settings = PATIENT.model_copy(update={"strict": strict})
        self.start()

    def start(self) -> None:
        self.ask = Caller(create_app(StoreFollower(self.model, self.store), self.settings))

    def teardown(self) -> None:
        self.store.close()

    def sent(self, method: str, path: str, body: object = None) -> Any:
        found = self.ask(method, path, json=body)
        assert found.status_code == 200, found.text
        return found.json()

    @rule(user=users, item=items, rating=levels)
    def put(self, user: str, item: str, rating: int) -> None:
        self.sent("PUT", f"/v1/users/{user}/ratings/{item}", {"rating": rating})
        self.changed[user, item] = rating

    @rule(ratings=st.lists(rows, max_size=8))
    def put_many(self, ratings: list[dict[str, Any]]) -> None:
        self.sent("POST", "/v1/ratings", {"ratings": ratings})
        self.changed |= {(row["user"], row["item"]): row["rating"] for row in ratings}

    @rule(ratings=st.lists(pairs, max_size=4))
    def delete(self, ratings: list[dict[str, str]]) -> None:
        self.sent("POST", "/v1/ratings/delete", {"ratings": ratings})
        self.changed |= {(row["user"], row["item"]): None for row in ratings}

    @rule(user=users)
    def erase(self, user: str) -> None:
        self.sent("DELETE", f"/v1/users/{user}")
        self.changed |= {(user, item): None for item in ITEMS}

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = open_store(self.url, create=False)
        self.start()

    @invariant()
    def answers_are_those_of_a_fresh_start(self) -> None:
        if not self.settings.strict:
            self.sent("POST", "/v1/ratings?refresh=true", {"ratings": []})
        fresh = Caller(create_app(StoreFollower(self.model, self.store), PATIENT))
        query = "&".join(f"item={item}" for item in ITEMS)
        for user in USERS:
            path = f"/v1/users/{user}/predictions?{query}"
            found, expected = self.ask("GET", path), fresh("GET", path)
            assert found.status_code == expected.status_code
            if found.status_code == 200:
                alike(found.json(), expected.json())
        alike(
            self.sent("POST", "/v1/predictions", GUEST),
            fresh("POST", "/v1/predictions", json=GUEST).json(),
        )

    @invariant()
    def the_store_holds_what_was_written(self) -> None:
        for user in USERS:
            found = self.ask("GET", f"/v1/users/{user}/ratings")
            told = found.json()["ratings"] if found.status_code == 200 else []
            held = {row["item"]: row["rating"] for row in told}
            for (who, item), rating in self.changed.items():
                assert who != user or held.get(item) == rating


def alike(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found["version"] == expected["version"]
    one, other = found["predictions"], expected["predictions"]
    assert [row["reason"] for row in one] == [row["reason"] for row in other]
    for figure in ("estimate", "std"):
        np.testing.assert_allclose(
            [row[figure] for row in one], [row[figure] for row in other], atol=1e-5
        )


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_any_sequence_of_writes_and_restarts(
    backend: str, model: REC, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    numbers, trained = count(), model

    class Machine(Service):
        model = trained

        def fresh(self) -> str:
            if backend == "sqlite":
                return f"sqlite:///{tmp_path / f'{next(numbers)}.db'}"
            address: str = request.getfixturevalue("postgres").fresh()
            return address

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=6,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
