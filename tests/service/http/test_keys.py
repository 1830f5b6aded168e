"""No route that should be closed answers without a key; the list is that of all routes."""

import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from tests.service.http.conftest import Caller

from evichain import REC
from evichain.errors import SettingsError
from evichain.service.http import Key, Keys, KeyScope, ServiceSettings, create_app
from evichain.service.http.keys import new_secret, secret_in_headers
from evichain.service.live.store_follower import StoreFollower

READ, WRITE = new_secret(), new_secret()
KEYS = Keys([Key.of("reader", KeyScope.READ, READ), Key.of("writer", KeyScope.WRITE, WRITE)])

OPEN = {
    "/",
    "/static/{name:path}",
    "/health/live",
    "/health/ready",
    "/api/health/live",
    "/api/health/ready",
}
QUESTIONS = {
    "/v1/recommendations",
    "/v1/predictions",
    "/v1/explanations",
    "/api/session/recommend",
}


@pytest.fixture
def closed(live: StoreFollower) -> FastAPI:
    return create_app(live, ServiceSettings(keys=KEYS))


def operations(app: FastAPI) -> list[tuple[str, str]]:
    """Every method and path of an application, those that no document shows included."""
    found = []
    for route in iter_route_contexts(app.routes):
        found += [(method, str(route.path)) for method in sorted(route.methods or ())]
    return found


def concrete(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "3", path)


def test_every_route_is_known_here(closed: FastAPI) -> None:
    found = operations(closed)
    assert len(found) > 50
    assert {path for _, path in found} >= OPEN | QUESTIONS
    assert ("DELETE", "/v1/users/{user}") in found
    assert ("GET", "/openapi.json") in found


def test_without_a_key_only_what_is_open_answers(closed: FastAPI) -> None:
    for method, path in operations(closed):
        for headers in ({}, {"X-API-Key": "wrong"}, {"Authorization": f"Basic {WRITE}"}):
            found = Caller(closed, headers)(method, concrete(path))
            if path in OPEN and method in ("GET", "HEAD"):
                assert found.status_code not in (401, 403), (method, path)
            else:
                assert found.status_code == 401, (method, path)
                assert "WWW-Authenticate" in found.headers


def test_a_key_that_reads_does_not_write(closed: FastAPI, live: StoreFollower) -> None:
    before = live.store.version()
    reader, writer = Caller(closed, {"X-API-Key": READ}), Caller(closed, {"X-API-Key": WRITE})
    for method, path in operations(closed):
        reads = method in ("GET", "HEAD") or (method == "POST" and path in QUESTIONS)
        status = reader(method, concrete(path)).status_code
        assert (status != 403) == reads, (method, path, status)
    assert live.store.version() == before
    for method, path in operations(closed):
        assert writer(method, concrete(path)).status_code not in (401, 403), (method, path)


def test_a_key_comes_in_either_header(closed: FastAPI) -> None:
    for headers in ({"X-API-Key": READ}, {"Authorization": f"Bearer {READ}"}):
        assert Caller(closed, headers)("GET", "/v1/overview").status_code == 200


def test_paths_that_only_look_open_are_closed(closed: FastAPI) -> None:
    ask = Caller(closed)
    for path in ("/static%2F..%2Fv1/overview", "/health", "/health/live/", "/v1/overview/"):
        assert ask("GET", path).status_code == 401, path
    for path in ("/", "/static/x", "/health/live"):
        assert ask("POST", path).status_code == 401, path


def test_a_key_file_is_read_and_its_faults_are_named(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# ours\n\n{Key.of('a', KeyScope.READ, READ).line}\n")
    keys = Keys.read(path)
    found = keys.find(READ)
    assert found is not None
    assert (found.name, found.scope) == ("a", KeyScope.READ)
    assert keys.find(WRITE) is None
    assert keys.find("") is None
    for line, said in (
        ("a read", "line 1"),
        ("a all 00", "line 1"),
        ("a read 00", "SHA-256"),
        (
            f"{Key.of('a', KeyScope.READ, READ).line}\n{Key.of('a', KeyScope.READ, WRITE).line}",
            "'a'",
        ),
    ):
        path.write_text(line)
        with pytest.raises(SettingsError, match=said):
            Keys.read(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        Keys.read(tmp_path / "none")


def test_a_key_that_is_no_text_is_no_key() -> None:
    assert secret_in_headers([(b"x-api-key", b"\xff\xfe")]) == "ÿþ"
    assert KEYS.find("ÿþ") is None
    assert KEYS.find("\ud800") is None


def test_settings_with_keys_travel_to_workers(model: REC) -> None:
    settings = ServiceSettings(keys=KEYS, rate=5)
    again = ServiceSettings.model_validate_json(settings.model_dump_json())
    assert [key.line for key in again.keys] == [key.line for key in KEYS]
    assert READ not in settings.model_dump_json()
