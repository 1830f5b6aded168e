"""The OpenAPI document: that of FastAPI, with problem documents and keys."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from evichain import __version__
from evichain.service.http.keys import required_scope
from evichain.service.http.problems import MEDIA_TYPE, Problem

_DESCRIPTION = """Ratings go in, recommendations with their evidence come out, and nothing is
retrained in between. Ids are text. Every error is a problem document (RFC 9457) whose `instance`
is the id of the request."""
_WITH_BODY = {"408": "Too slow", "413": "Too large", "415": "Not JSON"}
_ALWAYS = {
    "400": "Cannot be parsed",
    "401": "No key",
    "403": "A key without write access",
    "404": "Not found",
    "421": "Wrong host",
    "422": "A field is wrong",
    "429": "Too many requests",
    "503": "Busy, or the store cannot be reached",
}
_SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "bearer": {"type": "http", "scheme": "bearer"},
}


def document(app: FastAPI, *, closed: bool) -> Callable[[], dict[str, Any]]:
    """A function that makes the document once.

    Args:
        closed: whether keys are needed.
    """

    def made() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _made(app, closed)
        return app.openapi_schema

    return made


def _made(app: FastAPI, closed: bool) -> dict[str, Any]:
    found = get_openapi(
        title="evichain", version=__version__, description=_DESCRIPTION, routes=app.routes
    )
    components = found.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs")
    schemas["Problem"] = problem
    if closed:
        components["securitySchemes"] = _SCHEMES
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            statuses = _ALWAYS | (_WITH_BODY if "requestBody" in operation else {})
            for status, description in statuses.items():
                operation["responses"][status] = {"description": description, "content": content}
            if closed and required_scope(method.upper(), path) is not None:
                operation["security"] = [{name: []} for name in _SCHEMES]
    return found
