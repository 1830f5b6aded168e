"""Whatever is sent, the answer is clear and the server goes on."""

import json
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.service.http.conftest import Caller
from tests.service.http.serving import serving

from evichain.service.http import ServiceSettings, create_app
from evichain.service.live.store_follower import StoreFollower
from evichain.service.store import Store

JSON = {"Content-Type": "application/json"}
ONE = "/v1/users/eve/ratings/1"


def check_problem(found: httpx.Response, status: int) -> dict[str, Any]:
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = found.json()
    assert told["status"] == status
    assert told["type"]
    assert told["title"]
    assert told["detail"]
    assert told["instance"] == found.headers["x-request-id"]
    return told


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"nonsense", 422),
        (b"[]", 422),
        (b"null", 422),
        (b'{"rating": NaN}', 422),
        (b'{"rating": Infinity}', 422),
        (b'{"rating": -Infinity}', 422),
        (b'{"rating": 1e999}', 422),
        (b'{"rating": "5"}', 422),
        (b'{"rating": true}', 422),
        (b'{"rating": null}', 422),
        (b'{"rating": 5, "timestamp": 99999999999999999999}', 422),
        (b'{"rating": 5, "timestamp": 1.5}', 422),
        (b'{"rating": 5, "timestamp": -5}', 422),
        (b'{"rating": 5, "timestamp": 253402300800}', 422),
        (b'{"rating": 5, "timestamp": 99999999999999999}', 422),
        (b'{"rating": 5, "ratign": 5}', 422),
        (b'{"rating": 5.1}', 422),
        (b'{"rating": 0}', 422),
        (b'{"rating": ' + b"9" * 5000 + b"}", 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 100_000, 400),
        (b"\xff\xfe\x00", 400),
    ],
)
def test_bodies_that_are_wrong(ask: Caller, store: Store, body: bytes, status: int) -> None:
    before = store.version()
    told = check_problem(ask("PUT", ONE, content=body, headers=JSON), status)
    assert len(told["detail"]) < 600
    assert store.version() == before


def test_a_fault_is_named_by_its_field(ask: Caller) -> None:
    rows = [{"user": "a", "item": "b", "rating": 3}, {"user": "a", "item": "", "rating": 3}]
    told = check_problem(ask("POST", "/v1/ratings", json={"ratings": rows}), 422)
    assert told["errors"][0]["field"] == "body.ratings.1.item"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_is_not_called_json_is_not_read(ask: Caller, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    check_problem(ask("PUT", ONE, content=b'{"rating": 5}', headers=headers), 415)


@pytest.mark.parametrize(
    "identifier", ["x" * 257, "x" * 20_000, "%00", "a%00b", "%ED%A0%80", "%FF", "%C0%AF"]
)
def test_ids_that_cannot_be(ask: Caller, identifier: str) -> None:
    for method, path in (
        ("PUT", f"/v1/users/{identifier}/ratings/1"),
        ("PUT", f"/v1/users/1/ratings/{identifier}"),
        ("DELETE", f"/v1/users/{identifier}"),
        ("GET", f"/v1/users/{identifier}/recommendations"),
        ("GET", f"/v1/items/{identifier}"),
        ("GET", f"/v1/users/3/explanations/{identifier}"),
    ):
        found = ask(method, path, json={"rating": 5} if method == "PUT" else None)
        assert found.status_code in (404, 422), (method, path[:60])
        check_problem(found, found.status_code)


@pytest.mark.parametrize(
    "identifier", ["", "x" * 257, "a\0b", "\ud800", 2**63, 1.5, True, None, []]
)
def test_ids_in_bodies_that_cannot_be(ask: Caller, identifier: object) -> None:
    row = {"user": identifier, "item": "1", "rating": 3}
    content = json.dumps({"ratings": [row]})
    check_problem(ask("POST", "/v1/ratings", content=content, headers=JSON), 422)
    if not isinstance(identifier, str):
        guest = {"ratings": [{"item": identifier, "rating": 3}], "items": ["1"]}
        found = ask("POST", "/v1/predictions", json=guest)
        assert found.json()["detail"].endswith("item: An id is text or an integer of 64 bits")


@pytest.mark.parametrize(
    "query",
    [
        "n=0",
        "n=1001",
        "n=x",
        "n=1e3",
        "n=" + "9" * 5000,
        "caution=nan",
        "caution=inf",
        "caution=-inf",
    ],
)
def test_questions_that_cannot_be(ask: Caller, query: str) -> None:
    check_problem(ask("GET", f"/v1/users/3/recommendations?{query}"), 422)


def test_text_is_text_and_never_sql_or_markup(ask: Caller, store: Store) -> None:
    count = store.counts().ratings
    evil = "<script>alert(1)</script>'; DROP TABLE ratings; --"
    assert ask("PUT", "/v1/items/5", json={"title": evil}).json()["title"] == evil
    assert ask("GET", "/v1/items", params={"search": "script"}).json()["items"][0]["title"] == evil
    for text in ("%", "_", "' OR 1=1 --", '"', "\\", "[", "(", "*"):
        found = ask("GET", "/v1/items", params={"search": text})
        assert all(text in item["title"] for item in found.json()["items"])
    picture = ask("GET", "/v1/users/3/explanations/5?format=svg").text
    assert "<script" not in picture
    assert "&lt;script&gt;" in picture
    assert store.counts().ratings == count


def test_a_title_that_is_too_long_is_refused(ask: Caller) -> None:
    check_problem(ask("PUT", "/v1/items/5", json={"title": "x" * 2001}), 422)
    check_problem(ask("PUT", "/v1/items/5", json={"title": ""}), 422)


def test_routes_that_are_none(ask: Caller) -> None:
    check_problem(ask("GET", "/v2/users"), 404)
    check_problem(ask("GET", "/v1/users/3/recommendations/"), 404)
    assert check_problem(ask("PATCH", "/v1/overview"), 405)
    assert ask("PATCH", "/v1/overview").headers["allow"] == "GET"


def test_the_id_of_a_request_is_taken_over_if_it_is_harmless(ask: Caller) -> None:
    def told(given: str) -> str:
        return ask("GET", "/health/live", headers={"X-Request-ID": given}).headers["x-request-id"]

    assert told("abc-1.2_3") == "abc-1.2_3"
    for given in ("x" * 65, "a b", "<script>", ""):
        assert told(given) != given


class Wire:
    """What a client that keeps to no rules sends."""

    def __init__(self, address: str) -> None:
        self._url = urlsplit(address)

    def __call__(self, sent: bytes, *, more: int = 0) -> bytes:
        host = (str(self._url.hostname), int(self._url.port or 0))
        with socket.create_connection(host) as connection:
            connection.sendall(sent)
            try:
                for _ in range(more):
                    connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                connection.shutdown(socket.SHUT_WR)
            except OSError:  # The server has heard enough.
                pass
            found = b""
            try:
                while part := connection.recv(65536):
                    found += part
            except ConnectionResetError:
                pass
            return found


def test_on_the_wire(live: StoreFollower) -> None:
    with serving(create_app(live, ServiceSettings(connection_timeout=1.0))) as address:
        wire = Wire(address)
        head = (
            b"PUT /v1/users/eve/ratings/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        )
        large = wire(head + b"Content-Length: 10000000\r\n\r\n")
        assert large.startswith(b"HTTP/1.1 413"), large
        chunked = wire(head + b"Transfer-Encoding: chunked\r\n\r\n", more=160)
        assert chunked.startswith(b"HTTP/1.1 413"), chunked
        slow = wire_slow(address, head + b"Content-Length: 10\r\n\r\n{")
        assert slow.startswith(b"HTTP/1.1 408"), slow
        for path in (b"/static/../../../etc/passwd", b"/static/%2e%2e/%2e%2e/app.py", b"/../v1/x"):
            found = wire(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert found.startswith(b"HTTP/1.1 404"), found
        assert b" 400 " in wire(b"nonsense\r\n\r\n")
        with httpx.Client(base_url=address) as client:
            check_problem(client.put(ONE, content=b"x" * 10_000_000, headers=JSON), 413)
            assert client.put(ONE, json={"rating": 5}).status_code == 200
            assert client.get("/health/ready").status_code == 200


def wire_slow(address: str, sent: bytes) -> bytes:
    """Send a part of a request and wait for what the server makes of it."""
    url = urlsplit(address)
    with socket.create_connection((str(url.hostname), int(url.port or 0))) as connection:
        connection.sendall(sent)
        return connection.recv(65536)


def test_only_the_names_it_goes_by(live: StoreFollower) -> None:
    ask = Caller(create_app(live, ServiceSettings(hosts=frozenset({"localhost", "[::1]"}))))
    for host in ("localhost", "localhost:8000", "[::1]:8000", "LOCALHOST"):
        assert ask("GET", "/v1/overview", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "localhost.evil.example:80", "", "localhost:x"):
        check_problem(ask("GET", "/v1/overview", headers={"Host": host}), 421)
