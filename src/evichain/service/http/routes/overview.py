"""The overview, health, readiness and metrics."""

import time

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST

from evichain.service.http import models
from evichain.service.http.service import Readiness, Service


def router(service: Service) -> APIRouter:
    """The routes about the service itself."""
    routes = APIRouter(tags=["service"])
    ready = Readiness(service)

    @routes.get("/v1/overview", summary="Counts, error and latency")
    async def overview() -> models.Overview:
        """Counts (at most a few seconds old), the model, its recent error and its latency."""
        counted = await service.compute_threads(service.counts)
        live, snapshot = service.live, service.live.snapshot
        latency = service.metrics.latency() or (None, None)
        return models.Overview(
            ratings=counted.ratings,
            users=counted.users,
            items=counted.items,
            parameters=sum(p.numel() for p in snapshot.chain.parameters()),
            recipe=live.model.recipe,
            scale=models.ScaleSpan(
                low=snapshot.scale.low,
                high=snapshot.scale.high,
                levels=snapshot.scale.levels.tolist(),
            ),
            version=snapshot.version,
            refreshed_version=snapshot.refreshed_version,
            recent_rmse=live.recent.rmse,
            recent_ratings=live.recent.count,
            latency_p50_ms=latency[0],
            latency_p99_ms=latency[1],
            uptime_seconds=time.monotonic() - service.began,
        )

    @routes.get("/health/live", summary="Whether the process answers")
    async def alive() -> models.Health:
        """Always ok if the process answers."""
        return models.Health(status="ok")

    @routes.get("/health/ready", summary="Whether the store can be reached")
    async def is_ready() -> models.Health:
        """Ok if the store can be reached, otherwise 503."""
        await ready.check()
        return models.Health(status="ok")

    @routes.get(
        "/metrics",
        summary="Metrics for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        """Requests, latencies, refusals, counts, and the error on the latest ratings."""
        counted = await service.compute_threads(service.counts)
        figures, rmse = service.metrics, service.live.recent.rmse
        figures.counted(counted.ratings, counted.users, counted.items, rmse)
        return Response(figures.text(), media_type=CONTENT_TYPE_LATEST)

    return routes
