"""The application: the routes and the gateway of one live model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import torch
from fastapi import FastAPI

from evichain import __version__
from evichain.service.http import openapi, problems
from evichain.service.http.gateway import Gateway
from evichain.service.http.routes import (
    explanations,
    export,
    gorse,
    items,
    overview,
    page,
    ratings,
    recommendations,
)
from evichain.service.http.service import Service
from evichain.service.http.settings import ServiceSettings
from evichain.service.live.store_follower import StoreFollower

_GROUPS = (ratings, recommendations, items, explanations, export, overview, gorse)


def create_app(live: StoreFollower, settings: ServiceSettings | None = None) -> FastAPI:
    """An application that answers from a live model and follows its store while it runs."""
    settings = settings or ServiceSettings()
    service = Service.of(live, settings)

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        # Several threads would slow down matrix products this small.
        torch.set_num_threads(1)
        live.start()
        try:
            yield
        finally:
            live.stop()
            service.close()

    app = FastAPI(
        title="evichain",
        version=__version__,
        lifespan=running,
        # These pages load scripts from other sites.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for group in _GROUPS:
        app.include_router(group.router(service))
    app.include_router(page.router())
    problems.install(app, settings.retry_after)
    app.openapi = openapi.document(app, closed=len(settings.keys) > 0)  # type: ignore[method-assign]
    app.add_middleware(Gateway, settings=settings, metrics=service.metrics)
    return app
