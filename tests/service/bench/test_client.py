"""The load's client and what it makes of answers, on a real connection."""

import asyncio

import pytest

from evichain.service.bench.client import Connection, encoded
from evichain.service.bench.idle_server import Idle

PARTS = [
    b"HTTP/1.1 200 OK\r\nContent-Le",
    b'ngth: 12\r\nX-Other: 7\r\n\r\n{"ok"',
    b": true}",
]


class InParts(asyncio.Protocol):
    """Answers the first request bit by bit, and hangs up at the second."""

    def __init__(self) -> None:
        self._asked = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._asked += 1
        if self._asked == 1:
            loop = asyncio.get_running_loop()
            for number, part in enumerate(PARTS):
                loop.call_later(number * 0.01, self._transport.write, part)
        else:
            self._transport.close()


async def answers(server: type[asyncio.Protocol], count: int) -> list[tuple[int, bytes]]:
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(server, "127.0.0.1", 0)
    connection = await Connection.open(*listening.sockets[0].getsockname())
    try:
        return [tuple(await connection.ask(encoded("GET", "/"))) for _ in range(count)]  # type: ignore[misc]
    finally:
        connection.close()
        listening.close()


def test_an_answer_may_come_in_parts() -> None:
    assert asyncio.run(answers(InParts, 1)) == [(200, b'{"ok": true}')]


def test_a_connection_that_breaks_is_told() -> None:
    with pytest.raises(ConnectionError):
        asyncio.run(answers(InParts, 3))


def test_a_connection_is_kept() -> None:
    assert asyncio.run(answers(Idle, 3)) == [(200, b"{}")] * 3


def test_a_body_goes_with_its_length() -> None:
    sent = encoded("PUT", "/v1/users/1/ratings/2", {"rating": 5})
    head, _, body = sent.partition(b"\r\n\r\n")
    assert body == b'{"rating": 5}'
    assert f"Content-Length: {len(body)}".encode() in head
