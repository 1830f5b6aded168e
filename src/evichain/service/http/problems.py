"""Errors as problem documents (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from evichain.errors import (
    DataError,
    EvichainError,
    SettingsError,
    StoreUnavailableError,
    UnknownEntityError,
)

MEDIA_TYPE = "application/problem+json"


class Fault(BaseModel):
    """One wrong field of a request."""

    field: str
    detail: str


class Problem(BaseModel):
    """The error of a request (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "about:blank",
                "title": "Not Found",
                "status": 404,
                "detail": "unknown user 'eve'. Name a user who has ratings.",
                "instance": "0d8c7f3a5be14a5c",
            }
        }
    )

    type: str
    title: str
    status: int
    detail: str
    instance: str
    """The id of the request, also in `X-Request-ID`."""
    errors: list[Fault] | None = None


class ProblemError(HTTPException):
    """A request that is refused.

    Args:
        status: of the answer.
        detail: what is wrong and what would be right.
        retry_after: seconds after which the same request may succeed.
        close: whether to close the connection.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        retry_after: int | None = None,
        headers: Mapping[str, str] | None = None,
        close: bool = False,
    ) -> None:
        found = dict(headers or {})
        if retry_after is not None:
            found["Retry-After"] = str(retry_after)
        if close:
            found["Connection"] = "close"
        super().__init__(status, detail, found)


def problem(
    status: int,
    detail: str,
    instance: str,
    headers: Mapping[str, str] | None = None,
    errors: list[dict[str, str]] | None = None,
) -> Response:
    """A problem document."""
    content: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": instance,
    }
    if errors is not None:
        content["errors"] = errors
    return JSONResponse(content, status, headers, media_type=MEDIA_TYPE)


def from_error(error: EvichainError, retry_after: int) -> ProblemError:
    """The problem document of an error of the user or the store."""
    detail = _sentences(error.what, error.right)
    if isinstance(error, UnknownEntityError):
        return ProblemError(404, detail)
    if isinstance(error, DataError | SettingsError):
        return ProblemError(422, detail)
    # Details of the store stay in the log: clients must not learn its address.
    if isinstance(error, StoreUnavailableError):
        detail = "The store cannot be reached or is busy. A write may have happened; repeat it."
    else:
        detail = "The store cannot be used at the moment. A write may have happened."
    return ProblemError(503, detail, retry_after=retry_after)


def install(app: FastAPI, retry_after: int) -> None:
    """Let an app answer every error with a problem document."""

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(error.status_code, error.detail, _instance(request), error.headers)

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, EvichainError)
        request.state.error = error
        return await http(request, from_error(error, retry_after))

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        # The input is not sent back: it may be long or not encodable.
        faults = [
            {"field": ".".join(map(str, fault["loc"])), "detail": str(fault["msg"])}
            for fault in error.errors()[:20]
        ]
        faults = [{key: _printable(text) for key, text in fault.items()} for fault in faults]
        first = f"{faults[0]['field']}: {faults[0]['detail']}" if faults else "invalid request"
        return problem(422, first, _instance(request), errors=faults)

    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(EvichainError, ours)
    app.add_exception_handler(RequestValidationError, invalid)


def _instance(request: Request) -> str:
    return str(request.scope.get("request_id", ""))


def _sentences(what: str, right: str) -> str:
    return _printable(f"{what}. {right}" if right else what)


def _printable(text: str) -> str:
    """A text that can be encoded, shortened."""
    return text.encode("utf-8", "backslashreplace").decode()[:500]
