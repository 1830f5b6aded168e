"""Export of all ratings at one moment, in bounded memory."""

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from threading import Lock
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from evichain.service.http.limits import ConcurrencyLimit
from evichain.service.http.problems import ProblemError
from evichain.service.http.service import Service
from evichain.service.store import Store

_KINDS = {"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"}
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One rating per line.",
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            "application/x-ndjson": {"schema": {"type": "string"}},
        },
    }
}


def router(service: Service) -> APIRouter:
    """The route that exports."""
    routes = APIRouter(prefix="/v1", tags=["ratings"])
    gate = ConcurrencyLimit(service.settings.exports)

    @routes.get(
        "/export", summary="Export all ratings", responses=_CONTENT, response_class=Response
    )
    async def export(format: Annotated[Literal["csv", "ndjson"], Query()] = "csv") -> Response:
        """All ratings with user_id, item_id, rating and timestamp, at this moment."""
        if not gate.enter():
            retry = service.settings.retry_after
            raise ProblemError(503, "Too many exports are in progress.", retry_after=retry)
        chunks = _Chunks(written(service.live.store, format))

        def end() -> None:
            # Not awaited: the client may be gone, and this task cancelled.
            service.export_threads.later(chunks.close)
            gate.leave()

        try:
            # Before the answer begins, so that an unreachable store is still a 503.
            first = await service.export_threads(next, chunks, b"")
        except BaseException:
            end()
            raise

        async def stream() -> AsyncIterator[bytes]:
            yield first
            while chunk := await service.export_threads(next, chunks, b""):
                yield chunk

        names = {"Content-Disposition": f'attachment; filename="ratings.{format}"'}
        return _Export(stream(), end, media_type=_KINDS[format], headers=names)

    return routes


class _Export(StreamingResponse):
    """A stream that calls `end` even if the client reads nothing."""

    def __init__(
        self, content: AsyncIterator[bytes], end: Callable[[], None], **options: Any
    ) -> None:
        super().__init__(content, **options)
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._end()


class _Chunks(Iterator[bytes]):
    """A generator that one thread may close while another one reads it."""

    def __init__(self, chunks: Generator[bytes, None, None]) -> None:
        self._chunks, self._lock = chunks, Lock()

    def __next__(self) -> bytes:
        with self._lock:
            return next(self._chunks)

    def close(self) -> None:
        with self._lock:
            self._chunks.close()


def written(store: Store, format: str) -> Generator[bytes, None, None]:
    """The ratings as text, in parts."""
    with store.snapshot() as snapshot:
        if format == "csv":
            yield (",".join(snapshot.schema) + "\n").encode()
        for frame in snapshot.frames():
            if format == "csv":
                yield frame.write_csv(include_header=False).encode()
            else:
                yield frame.write_ndjson().encode()
