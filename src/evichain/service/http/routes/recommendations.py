"""Recommendations and predictions, for users and for guests."""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query

from evichain.answering import answers
from evichain.answering.asker import Asker, find_user
from evichain.service.http import models
from evichain.service.http.service import Service
from evichain.service.live.snapshot import Snapshot

FindAsker = Callable[[Snapshot], Asker]


def router(service: Service) -> APIRouter:
    """The routes of recommendations and predictions."""
    routes = APIRouter(prefix="/v1", tags=["recommendations"])

    async def recommended(
        find: FindAsker, n: int, include_seen: bool, caution: float, reasons: bool
    ) -> models.Recommendations:
        def work() -> models.Recommendations:
            began, backend = time.perf_counter(), service.backend
            found = answers.recommend(
                backend,
                find(backend),
                n,
                exclude_seen=not include_seen,
                caution=caution,
                reasons=reasons,
            )
            service.metrics.recommended(time.perf_counter() - began)
            return models.Recommendations(**found.to_dict(), version=backend.version)

        # A list is faster than a hand-over to a thread; its reasons are slower.
        return await service.compute_threads(work) if reasons else work()

    def predicted(find: FindAsker, items: list[str]) -> models.Predictions:
        backend = service.backend
        found = answers.predict(backend, find(backend), items)
        return models.Predictions(**found.to_dict(), version=backend.version)

    @routes.get("/users/{user}/recommendations", summary="Recommend to a user")
    async def recommend(
        user: models.PathId,
        n: models.Count = 10,
        include_seen: bool = False,
        caution: models.Caution = 0.0,
        reasons: bool = False,
        without: models.QueryIds = [],  # noqa: B006
    ) -> models.Recommendations:
        """The items that a user would rate highest.

        `caution` ranks by the estimate minus this many standard deviations. `reasons` names,
        for each item, the user's rating that supports it most, of up to 64 that are tried.
        `without` leaves ratings of the user out of the evidence.
        """
        return await recommended(
            lambda backend: find_user(backend, user, without), n, include_seen, caution, reasons
        )

    @routes.post("/recommendations", summary="Recommend to a guest")
    async def recommend_by(body: models.RecommendBody) -> models.Recommendations:
        """The items that someone with these ratings would rate highest; nothing is stored."""
        return await recommended(body.asker, body.n, body.include_seen, body.caution, body.reasons)

    @routes.get("/users/{user}/predictions", summary="Predict ratings of a user")
    async def predict(
        user: models.PathId,
        item: Annotated[models.QueryIds, Query(min_length=1, max_length=models.MAX_LIST)],
        without: models.QueryIds = [],  # noqa: B006
    ) -> models.Predictions:
        """How a user would rate items; `reason` says why there is no evidence, if there is none.

        `without` leaves ratings of the user out of the evidence.
        """
        return predicted(lambda backend: find_user(backend, user, without, required=False), item)

    @routes.post("/predictions", summary="Predict ratings of a guest")
    async def predict_by(body: models.PredictBody) -> models.Predictions:
        """How someone with these ratings would rate items; nothing is stored."""
        return predicted(body.asker, body.items)

    return routes
