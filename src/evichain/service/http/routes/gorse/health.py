"""Health, as gorse's clients ask for it."""

from fastapi import APIRouter

from evichain.service.http.routes.gorse import models
from evichain.service.http.service import Readiness, Service


def router(service: Service) -> APIRouter:
    """The routes about health."""
    routes = APIRouter(prefix="/api/health")
    ready = Readiness(service)

    @routes.get("/live", summary="Whether the process answers")
    async def alive() -> models.Ready:
        """That it answers is the answer."""
        return models.Ready(ready=True)

    @routes.get("/ready", summary="Whether the store can be reached")
    async def is_ready() -> models.Ready:
        """Ready when the store can be reached, and 503 when not."""
        await ready.check()
        return models.Ready(ready=True)

    return routes
