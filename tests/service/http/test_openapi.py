"""The OpenAPI document tells what the server does: no 5xx, no answer that it does not describe."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from tests.service.http.conftest import Caller
from tests.service.http.serving import serving
from tests.service.http.test_keys import KEYS, WRITE

from evichain import REC
from evichain.answering.answers import REASONS_FROM
from evichain.service.http import ServiceSettings, create_app
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import open_store


@pytest.fixture(scope="module")
def address(model: REC, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on a store of its own."""
    path = tmp_path_factory.mktemp("openapi") / "ratings.db"
    with open_store(str(path)) as store:
        store.import_ratings(model.graph.to_ratings())
        store.put_titles({0: "Alien (1979)"})
        with serving(
            create_app(StoreFollower(model, store), ServiceSettings(keys=KEYS, rate=0))
        ) as found:
            yield found


# The scale of the ratings is the model's, and the document is of no model in particular.
EXAMPLES = 15
KEY = {"X-API-Key": WRITE}
_EXCLUDED: list[schemathesis.CheckFunction] = [positive_data_acceptance]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: str(mode.value))
def test_keeps_its_word(address: str, mode: GenerationMode) -> None:
    document = schemathesis.openapi.from_url(f"{address}/openapi.json", headers=KEY)
    count, failures = 0, list[Exception]()
    for found in document.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        try:
            _check(operation.as_strategy(generation_mode=mode))
        except Exception as error:
            failures.append(error)
        count += 1
    if failures:
        raise ExceptionGroup("operations that do not keep their word", failures)
    assert count > 50


def _check(cases: SearchStrategy[Any]) -> None:
    @settings(
        max_examples=EXAMPLES,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        derandomize=True,
        database=None,
    )
    @given(case=cases)
    def holds(case: schemathesis.Case[Any]) -> None:
        found = case.call(headers=KEY)
        if found.content == b"Invalid HTTP request received.":
            return  # Longer than any request may be: it has not come as far as the application.
        # That a long list makes too large a body is a refusal too.
        large = [negative_data_rejection] if found.status_code == 413 else []
        case.validate_response(found, excluded_checks=[*_EXCLUDED, *large])

    with suppress(Unsatisfiable):  # Nothing about some operations can be wrong.
        holds()


def test_every_operation_is_told_well(address: str) -> None:
    found = httpx.get(f"{address}/openapi.json", headers=KEY).json()
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            where = (method, path)
            assert operation["summary"], where
            assert operation["description"], where
            assert "application/problem+json" in operation["responses"]["422"]["content"], where
            assert ("security" in operation) == ("/health/" not in path), where
            answer = operation["responses"]["200"]["content"]
            assert all("schema" in kind for kind in answer.values()), where
    names = found["components"]["schemas"]
    assert "Problem" in names
    assert "HTTPValidationError" not in names


def test_says_how_many_ratings_a_reason_is_sought_among(ask: Caller) -> None:
    document = ask("GET", "/openapi.json").json()
    said = f"up to {REASONS_FROM} that are tried"
    assert said in document["components"]["schemas"]["Reason"]["description"]
    question = document["paths"]["/v1/users/{user}/recommendations"]["get"]["description"]
    assert said in " ".join(question.split())
