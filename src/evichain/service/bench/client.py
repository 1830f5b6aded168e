"""A minimal HTTP client, one request at a time, so that its own cost does not count.

Load is made on one core, and what that core spends on a request it cannot spend on the next.
"""

import asyncio
import json
import re
from typing import Any, NamedTuple, Self, cast

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END = b"\r\n\r\n"


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The document in the body."""
        return json.loads(self.body)


class Connection(asyncio.Protocol):
    """A connection that is kept."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answer] | None = None
        self._read = bytearray()

    @classmethod
    async def open(cls, host: str, port: int) -> Self:
        """Connect.

        Raises:
            OSError: nobody listens there.
        """
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(cls, host, port)
        return connection

    async def ask(self, request: bytes) -> Answer:
        """Send a request and wait for its answer.

        Raises:
            ConnectionError: the connection was closed before all of the answer was there.
        """
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionResetError())

    def data_received(self, data: bytes) -> None:
        self._read += data
        head = self._read.find(_END)
        if head < 0:
            return
        length = _LENGTH.search(self._read, 0, head)
        end = head + len(_END) + int(length[1] if length else 0)
        if len(self._read) < end or self._waiting is None or self._waiting.done():
            return
        answer = Answer(int(self._read[9:12]), bytes(self._read[head + len(_END) : end]))
        del self._read[:end]
        self._waiting.set_result(answer)


def encoded(method: str, path: str, body: object = None) -> bytes:
    r"""A request as it goes over the wire.

    >>> encoded("GET", "/health/live")
    b'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n'
    """
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    if body is None:
        return f"{head}\r\n".encode()
    sent = json.dumps(body).encode()
    head += f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    return head.encode() + sent
