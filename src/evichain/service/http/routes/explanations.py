"""Explanations: the evidence behind a prediction, as JSON, a picture or text."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from evichain.answering.answers import explain as explain_prediction
from evichain.answering.asker import Asker, find_user
from evichain.evidence.trace import Trace
from evichain.service.http import models
from evichain.service.http.aliases import Aliases
from evichain.service.http.gateway import NAMES
from evichain.service.http.service import Service
from evichain.service.live.snapshot import Snapshot

_SVG = "image/svg+xml"
_TEXT = "text/plain; charset=utf-8"
# A picture that is opened by itself runs nothing and loads nothing.
_SVG_POLICY = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
_FORMATS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The evidence, in the format asked for.",
        "content": {
            _SVG: {"schema": {"type": "string"}},
            "text/plain": {"schema": {"type": "string"}},
        },
    }
}


def router(service: Service) -> APIRouter:
    """The routes about evidence."""
    routes = APIRouter(prefix="/v1", tags=["explanations"])

    aliases = Aliases(service.settings.alias_secret)

    async def explained(
        request: Request,
        find: Callable[[Snapshot], Asker],
        item: str,
        pieces: int,
        depth: int,
        format: models.Format,
    ) -> Response:
        def work() -> Response:
            backend = service.backend
            trace = explain_prediction(backend, find(backend), item, pieces=pieces, depth=depth)
            if not request.scope.get(NAMES, False):
                trace = aliases.applied(trace)
            return response(trace, format)

        return await service.compute_threads(work)

    @routes.get(
        "/users/{user}/explanations/{item}",
        summary="Explain a prediction to a user",
        response_model=models.Explanation,
        responses=_FORMATS,
    )
    async def explain(
        request: Request,
        user: models.PathId,
        item: models.PathId,
        pieces: Annotated[int, Query(ge=1, le=20)] = 5,
        depth: Annotated[int, Query(ge=0, le=3)] = 2,
        without: models.QueryIds = [],  # noqa: B006
        format: models.Format = "json",
    ) -> Response:
        """The evidence behind the prediction of an item for a user.

        `pieces` of each part's evidence are shown, `depth` steps deep; `without` leaves ratings
        of the user's out, as if they had never been. Other users have aliases, unless the key
        may write.
        """
        return await explained(
            request, lambda backend: find_user(backend, user, without), item, pieces, depth, format
        )

    @routes.post(
        "/explanations",
        summary="Explain a prediction to a guest",
        response_model=models.Explanation,
        responses=_FORMATS,
    )
    async def explain_by(request: Request, body: models.ExplainBody) -> Response:
        """The evidence behind the prediction of an item for someone with these ratings.

        Users have aliases, unless the key may write.
        """
        return await explained(request, body.asker, body.item, body.pieces, body.depth, body.format)

    return routes


def response(trace: Trace, format: models.Format) -> Response:
    """A trace in a format."""
    if format == "svg":
        return Response(trace.svg(), media_type=_SVG, headers=_SVG_POLICY)
    if format == "text":
        return Response(trace.text(), media_type=_TEXT)
    return JSONResponse(trace.to_dict())
