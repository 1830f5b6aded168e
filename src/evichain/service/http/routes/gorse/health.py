"""Health in gorse's API."""

from fastapi import APIRouter

from evichain.service.http.routes.gorse import models
from evichain.service.http.service import Readiness, Service


def router(service: Service) -> APIRouter:
    """The routes about health."""
    routes = APIRouter(prefix="/api/health")
    ready = Readiness(service)

    @routes.get("/live", summary="Whether the process answers")
    async def alive() -> models.Ready:
        """Always true if the process answers."""
        return models.Ready(ready=True)

    @routes.get("/ready", summary="Whether the store can be reached")
    async def is_ready() -> models.Ready:
        """True if the store can be reached, otherwise 503."""
        await ready.check()
        return models.Ready(ready=True)

    return routes
