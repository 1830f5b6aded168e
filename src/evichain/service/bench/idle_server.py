"""A server that does nothing, to measure the load generator alone.

usage: python -m evichain.service.bench.idle_server    (prints its port; ends with its stdin)
"""

import asyncio
import sys
from typing import cast

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Idle(asyncio.Protocol):
    """Answers every packet; a request fits into one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(_ANSWER)


async def main() -> None:
    """Serve until stdin is closed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Idle, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
