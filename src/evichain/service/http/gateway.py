"""The middleware of every request: its id, keys, limits and log."""

import math
import re
import time
from http import HTTPStatus
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evichain.service.http import keys, limits, paths
from evichain.service.http.keys import HEALTH
from evichain.service.http.logs import error_location, request_log
from evichain.service.http.metrics import Metrics
from evichain.service.http.problems import ProblemError, problem
from evichain.service.http.settings import ServiceSettings

_SAFE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_UNMATCHED = "-"
_CLIENT_CLOSED = 499
"""The status in the log if the client closed the connection."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""The default headers of every answer."""
_WITH_BODY = ("POST", "PUT", "PATCH")
NAMES = "evichain.names"
"""The key in a request's scope that says whether it may see the ids of other users."""
_METHODS = frozenset({"GET", "HEAD", "DELETE", "OPTIONS", *_WITH_BODY})


class Gateway:
    """An ASGI application that checks every request before it passes it on."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics
        self.gate = limits.ConcurrencyLimit(settings.in_progress)
        burst = settings.burst or max(1.0, 2 * settings.rate)
        self._buckets = limits.RateLimits(settings.rate, burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await _RequestInProgress(self, scope, send).run(receive)

    def admit(self, scope: Scope, headers: dict[bytes, bytes]) -> str:
        """Admit a request or refuse it; returns the name of its key."""
        key = self._known(headers)
        self._within_rate(key.name if key else None, scope)
        path = scope["path"]
        need = keys.required_scope(scope["method"], path) if len(self.settings.keys) else None
        if need is not None:
            if key is None:
                challenge = {"WWW-Authenticate": 'Bearer realm="evichain"'}
                detail = "A key is needed: X-API-Key, or Authorization: Bearer."
                raise ProblemError(401, detail, headers=challenge)
            if key.scope < need:
                raise ProblemError(403, "This key has no write access.")
        self._check_host(headers)
        may_write = key is not None and key.scope >= keys.KeyScope.WRITE
        scope[NAMES] = self.settings.names or may_write
        if scope["method"] in _WITH_BODY:
            self._check_body(headers)
        return key.name if key else ""

    def _known(self, headers: dict[bytes, bytes]) -> keys.Key | None:
        secret = keys.secret_in_headers(headers.items()) if len(self.settings.keys) else None
        return self.settings.keys.find(secret) if secret else None

    def _within_rate(self, name: str | None, scope: Scope) -> None:
        client = scope.get("client")
        wait = self._buckets.take(f"key {name}" if name else f"at {client[0] if client else ''}")
        if wait:
            self.metrics.refused.labels("rate").inc()
            raise ProblemError(429, "Too many requests.", retry_after=math.ceil(wait))

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        if self.settings.hosts is None:
            return
        name = headers.get(b"host", b"").decode("latin-1").rsplit(":", 1)
        host = name[0] if len(name) == 2 and name[1].isdigit() else ":".join(name)
        if host.lower() not in self.settings.hosts:
            raise ProblemError(421, "The Host is not a name of this server.")

    def _check_body(self, headers: dict[bytes, bytes]) -> None:
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > self.settings.max_body:
            raise limits.too_large(self.settings.max_body)
        if length == b"0" and b"transfer-encoding" not in headers:
            return
        kind = headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
        if kind != b"application/json":
            raise ProblemError(415, "Send application/json.", close=True)


class _RequestInProgress:
    """One request in the gateway."""

    def __init__(self, gateway: Gateway, scope: Scope, send: Send) -> None:
        self._gateway = gateway
        self._scope, self._status, self._key = scope, 0, ""
        self._send = limits.send_with_timeout(send, self._gateway.settings.connection_timeout)
        self._began = time.perf_counter()
        self._headers = dict(scope["headers"])
        given = self._headers.get(b"x-request-id", b"")
        harmless = _SAFE_ID.fullmatch(given) is not None
        self._id = given.decode() if harmless else uuid4().hex[:16]
        scope["request_id"] = self._id

    async def run(self, receive: Receive) -> None:
        """Pass the request on, or refuse it, and log the outcome."""
        fault: BaseException | None = None
        try:
            await self._pass(receive)
        except ProblemError as error:
            await self._refuse(error)
        except limits.ClientGoneError:
            self._status = self._status or _CLIENT_CLOSED
        except Exception as error:
            fault = error
            if not self._status:
                await self._refuse(ProblemError(500, "Internal error. It has been logged."))
        finally:
            self._log(fault)

    async def _pass(self, receive: Receive) -> None:
        path = paths.routing_path(self._scope.get("raw_path") or self._scope["path"].encode())
        if path is None:
            raise ProblemError(404, "No such route.")
        self._scope["path"] = path
        if path in HEALTH and self._scope["method"] in ("GET", "HEAD"):
            # Health is answered however busy the server is.
            await self._gateway.app(self._scope, receive, self._sent)
            return
        self._key = self._gateway.admit(self._scope, self._headers)
        if not self._gateway.gate.enter():
            self._gateway.metrics.refused.labels("busy").inc()
            detail = "Too many requests are in progress."
            raise ProblemError(503, detail, retry_after=self._gateway.settings.retry_after)
        self._gateway.metrics.in_progress.inc()
        try:
            settings = self._gateway.settings
            body = limits.limit_body(receive, settings.max_body, settings.connection_timeout)
            await self._gateway.app(self._scope, body, self._sent)
        finally:
            self._gateway.gate.leave()
            self._gateway.metrics.in_progress.dec()

    async def _refuse(self, error: ProblemError) -> None:
        answer = problem(error.status_code, error.detail, self._id, error.headers)
        try:
            await answer(self._scope, _nothing, self._sent)
        except limits.ClientGoneError:
            self._status = _CLIENT_CLOSED

    async def _sent(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(raw=message["headers"])
            headers["X-Request-ID"] = self._id
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    def _log(self, fault: BaseException | None) -> None:
        seconds = time.perf_counter() - self._began
        route = getattr(self._scope.get("route"), "path", _UNMATCHED)
        method = self._scope["method"] if self._scope["method"] in _METHODS else "OTHER"
        self._gateway.metrics.requests.labels(method, route, str(self._status)).inc()
        self._gateway.metrics.seconds.labels(method, route).observe(seconds)
        fields = {
            "request_id": self._id,
            "method": method,
            "route": route,
            "status": self._status,
            "ms": round(seconds * 1000, 2),
            "key": self._key or None,
        }
        if fault is not None:
            request_log.error("fault", extra={**fields, "error": error_location(fault)})
        elif self._status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            cause = self._scope.get("state", {}).get("error")
            reason = type(cause).__name__ if cause is not None else None
            request_log.warning("request", extra={**fields, "error": reason})
        else:
            request_log.info("request", extra=fields)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
