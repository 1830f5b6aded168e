"""Too often, too many, too long: sent away at once, and welcome later."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from threading import Event

import httpx
import pytest
from starlette.types import Message
from tests.service.http.conftest import Caller
from tests.service.http.test_hostile import check_problem
from tests.service.http.test_keys import KEYS, READ, WRITE

from evichain.errors import StoreUnavailableError
from evichain.ratings.side import Side
from evichain.service.http import ServiceSettings, create_app
from evichain.service.live.store_follower import StoreFollower

Hold = Callable[[object, str], Event]


@pytest.fixture
def held() -> Iterator[Hold]:
    """Let all calls of a method wait until an event is set, at the latest when the test ends."""
    events: list[Event] = []

    def hold(owner: object, method: str) -> Event:
        go, before = Event(), getattr(owner, method)

        def slow(*arguments: object, **options: object) -> object:
            go.wait()
            return before(*arguments, **options)

        setattr(owner, method, slow)
        events.append(go)
        return go

    yield hold
    for go in events:
        go.set()


def test_a_caller_has_so_many_requests(live: StoreFollower) -> None:
    app = create_app(live, ServiceSettings(keys=KEYS, rate=0.001, burst=3))
    reader, writer = Caller(app, {"X-API-Key": READ}), Caller(app, {"X-API-Key": WRITE})
    assert [reader("GET", "/v1/items/0").status_code for _ in range(5)] == [200] * 3 + [429] * 2
    found = reader("GET", "/v1/items/0")
    check_problem(found, 429)
    assert int(found.headers["retry-after"]) > 100
    assert writer("GET", "/v1/items/0").status_code == 200
    nobody = Caller(app, {"X-API-Key": "guess"})
    assert [nobody("GET", "/v1/items/0").status_code for _ in range(4)] == [401] * 3 + [429]


def test_what_is_too_much_is_sent_away_and_never_piles_up(live: StoreFollower, held: Hold) -> None:
    app = create_app(live, ServiceSettings(in_progress=4, threads=1))
    go = held(live.store, "put")

    async def storm() -> list[httpx.Response]:
        async with Caller(app).session() as client:

            async def put(item: int) -> httpx.Response:
                return await client.put(f"/v1/users/eve/ratings/{item}", json={"rating": 5})

            waiting = [asyncio.create_task(put(item)) for item in range(50)]
            while sum(task.done() for task in waiting) < 46:
                await asyncio.sleep(0.01)
            # Those who are in the way do not keep anyone from asking how it goes.
            assert (await client.get("/health/live")).status_code == 200
            refused = [task.result() for task in waiting if task.done()]
            go.set()
            answered = await asyncio.gather(*waiting)
            assert (await client.get("/v1/items/0")).status_code == 200
            for found in refused:
                check_problem(found, 503)
                assert found.headers["retry-after"] == "1"
            return answered

    statuses = [found.status_code for found in asyncio.run(storm())]
    assert statuses.count(200) == 4
    assert statuses.count(503) == 46


def test_work_that_takes_too_long_is_given_up(live: StoreFollower, held: Hold) -> None:
    app = create_app(live, ServiceSettings(timeout=0.05, threads=1))
    held(live.store, "put")
    ask = Caller(app)
    check_problem(ask("PUT", "/v1/users/eve/ratings/1", json={"rating": 5}), 503)
    assert ask("GET", "/v1/users/3/recommendations").status_code == 200


def test_what_comes_from_memory_does_not_wait_for_the_store(
    live: StoreFollower, held: Hold
) -> None:
    app, go = create_app(live, ServiceSettings(threads=1)), held(live.store, "put")
    body = {"ratings": [{"item": "0", "rating": 5}], "item": "1"}

    async def answered() -> list[httpx.Response]:
        async with Caller(app).session() as client:
            path = "/v1/users/eve/ratings/{}"
            writes = [
                asyncio.create_task(client.put(path.format(item), json={"rating": 5}))
                for item in range(3)
            ]
            await asyncio.sleep(0)
            found = [
                await client.get("/v1/users/3/explanations/1"),
                await client.post("/v1/explanations", json=body),
                await client.get("/v1/users/3/recommendations?reasons=true"),
                await client.get("/v1/items?search=alien"),
                await client.get("/v1/items"),
                await client.get("/v1/overview"),
                await client.get("/metrics"),
                await client.get("/api/recommend/a%20stranger"),
                await client.get("/api/user/3/neighbors"),
                await client.get("/api/items?q=alien"),
            ]
            assert not any(write.done() for write in writes)
            go.set()
            return [*found, *await asyncio.gather(*writes)]

    found = asyncio.run(answered())
    assert [(one.url.path, one.status_code) for one in found if one.status_code != 200] == []


def test_a_write_that_waits_for_refreshing_holds_up_nobody(live: StoreFollower, held: Hold) -> None:
    """It may take longer than other work does, which has its threads."""
    settings = ServiceSettings(timeout=2, threads=1)
    app, go = create_app(live, settings), held(live, "refresh")

    async def erased() -> httpx.Response:
        async with Caller(app).session() as client:
            erasing = asyncio.create_task(client.delete("/v1/users/3"))
            while live.store.ratings_of(Side.USER, 3):
                await asyncio.sleep(0.01)
            await asyncio.sleep(settings.timeout)
            for path in ("/v1/overview", "/metrics", "/v1/items", "/v1/ratings"):
                assert (await client.get(path)).status_code == 200
            go.set()
            return await erasing

    assert asyncio.run(erased()).status_code == 200


def test_half_of_all_requests_may_wait_for_refreshing(live: StoreFollower, held: Hold) -> None:
    app, go = create_app(live, ServiceSettings(in_progress=5, strict=True)), held(live, "refresh")

    async def storm() -> list[httpx.Response]:
        async with Caller(app).session() as client:

            async def put(item: int) -> httpx.Response:
                return await client.put(f"/v1/users/eve/ratings/{item}", json={"rating": 5})

            waiting = [asyncio.create_task(put(item)) for item in range(4)]
            while sum(task.done() for task in waiting) < 2:
                await asyncio.sleep(0.01)
            assert (await client.get("/v1/items")).status_code == 200
            go.set()
            return await asyncio.gather(*waiting)

    found = asyncio.run(storm())
    taken = [item for item, answer in enumerate(found) if answer.status_code == 200]
    assert len(taken) == 2
    for answer in found:
        if answer.status_code != 200:
            check_problem(answer, 503)
            assert answer.headers["retry-after"] == "1"
    # Who was sent away has written nothing, and those who come later have their place.
    assert [row.item for row in live.store.ratings_of(Side.USER, "eve")] == taken
    assert Caller(app)("DELETE", "/v1/users/eve").status_code == 200


def test_who_waits_too_long_for_refreshing_is_told_so(live: StoreFollower, held: Hold) -> None:
    held(live, "refresh")
    ask = Caller(create_app(live, ServiceSettings(refresh_timeout=0.05)))
    check_problem(ask("DELETE", "/v1/users/3"), 503)
    assert live.store.ratings_of(Side.USER, 3) == []


def test_logs_tell_the_route_and_nothing_of_people_or_keys(
    live: StoreFollower, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    ask = Caller(create_app(live, ServiceSettings(keys=KEYS)), {"X-API-Key": WRITE})
    ask("PUT", "/v1/users/secret-person/ratings/secret-film", json={"rating": 5})
    ask("GET", "/v1/users/secret-person/recommendations?without=secret-film")
    ask("GET", "/v1/users/secret-nobody/recommendations")
    ask("GET", "/api/recommend/secret-person")
    ask("GET", "/secret-path")
    records = [record for record in caplog.records if record.name == "evichain.http"]
    assert [record.__dict__["route"] for record in records] == [
        "/v1/users/{user}/ratings/{item}",
        "/v1/users/{user}/recommendations",
        "/v1/users/{user}/recommendations",
        "/api/recommend/{user}",
        "-",
    ]
    assert [record.__dict__["status"] for record in records] == [200, 200, 404, 200, 404]
    for record in caplog.records:
        if record.name == "httpx":  # The client's own log.
            continue
        line = str(vars(record))
        assert "secret" not in line
        assert WRITE not in line
    assert all(record.__dict__["key"] == "writer" for record in records)


def test_a_bug_is_a_problem_too_and_its_text_is_not_logged(
    live: StoreFollower, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("secret-person")

    live.store.ratings_of = broken  # type: ignore[assignment, method-assign]
    found = Caller(create_app(live))("GET", "/v1/users/secret-person/ratings")
    told = check_problem(found, 500)
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "ValueError in" in record.__dict__["error"]
    assert record.__dict__["request_id"] == told["instance"]
    assert "secret" not in str(vars(record)) + found.text


@pytest.mark.parametrize("stalled", ["http.response.start", "http.response.body"])
def test_who_does_not_take_an_export_gives_its_place_back(
    live: StoreFollower, stalled: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(live, ServiceSettings(exports=1, connection_timeout=0.05))
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/export",
        "raw_path": b"/v1/export",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
        "asgi": {"version": "3.0"},
    }

    received: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not received:
            await asyncio.Event().wait()
        return received.pop()

    async def send(message: Message) -> None:
        if message["type"] == stalled:
            await asyncio.Event().wait()

    asyncio.run(app(scope, receive, send))
    assert "ERROR" not in [record.levelname for record in caplog.records]
    assert Caller(app)("GET", "/v1/export").status_code == 200


def test_a_log_names_the_error_behind_a_503(
    live: StoreFollower, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object, **__: object) -> None:
        raise StoreUnavailableError("cannot be reached", where="secret-place")

    live.store.put = away  # type: ignore[assignment, method-assign]
    found = Caller(create_app(live))("PUT", "/v1/users/eve/ratings/1", json={"rating": 5})
    check_problem(found, 503)
    assert found.headers["retry-after"] == "1"
    (record,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert record.__dict__["error"] == "StoreUnavailableError"
    assert "secret" not in str(vars(record)) + found.text
