"""A server that does nothing, to see how much load can be made: every request gets the same bytes.

usage: python -m evichain.service.bench.idle_server    (says its port on stdout; ends with its stdin)
"""

import asyncio
import sys
from typing import cast

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Idle(asyncio.Protocol):
    """Answers whatever comes; a request of the load fits into one packet."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(_ANSWER)


async def main() -> None:
    """Serve until nobody is there any more."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Idle, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
