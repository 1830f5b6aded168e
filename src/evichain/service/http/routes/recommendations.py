"""Recommendations and predictions, for users and for anyone with ratings."""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query

from evichain.service.http import models
from evichain.service.http.service import Service
from evichain.service.live.answers import Answers, Asker


def router(service: Service) -> APIRouter:
    """The routes about what someone would rate."""
    routes = APIRouter(prefix="/v1", tags=["recommendations"])

    def recommended(
        who: Callable[[Answers], Asker], n: int, include_seen: bool, caution: float, reasons: bool
    ) -> models.Recommendations:
        began, answers = time.perf_counter(), service.answers()
        found = answers.recommend(
            who(answers), n, include_seen=include_seen, caution=caution, reasons=reasons
        )
        service.metrics.recommended(time.perf_counter() - began)
        items = [
            models.Suggestion(
                item=str(one.item),
                title=one.title,
                estimate=one.estimate,
                std=one.std,
                reason=None
                if one.reason is None
                else models.Reason(
                    item=str(one.reason.item),
                    title=one.reason.title,
                    rating=one.reason.rating,
                    contribution=one.reason.contribution,
                ),
            )
            for one in found
        ]
        return models.Recommendations(items=items, version=answers.snapshot.version)

    def predicted(answers: Answers, asker: Asker, items: list[str]) -> models.Predictions:
        found = answers.predict(asker, items)
        return models.Predictions(
            predictions=[models.Prediction(**vars(one)) for one in found],
            version=answers.snapshot.version,
        )

    async def listed(
        who: Callable[[Answers], Asker], n: int, include_seen: bool, caution: float, reasons: bool
    ) -> models.Recommendations:
        # A list takes less time than handing it to a thread would; its reasons take more.
        if reasons:
            return await service.thinking(recommended, who, n, include_seen, caution, reasons)
        return recommended(who, n, include_seen, caution, reasons)

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

        `caution` ranks by the estimate less so many of its deviations; `reasons` tells which
        rating of theirs, of up to 64 that are looked at, speaks most for each item; `without`
        leaves ratings of theirs out.
        """
        return await listed(
            lambda answers: answers.user(user, without), n, include_seen, caution, reasons
        )

    @routes.post("/recommendations", summary="Recommend to anyone")
    async def recommend_by(body: models.RecommendBody) -> models.Recommendations:
        """The items that someone with these ratings would rate highest; nothing is stored."""
        rated = [(one.item, one.rating) for one in body.ratings]
        return await listed(
            lambda answers: answers.guest(rated, body.without),
            body.n,
            body.include_seen,
            body.caution,
            body.reasons,
        )

    @routes.get("/users/{user}/predictions", summary="Predict ratings of a user")
    async def predict(
        user: models.PathId,
        item: Annotated[models.QueryIds, Query(min_length=1, max_length=models.MOST)],
    ) -> models.Predictions:
        """What a user would rate items, with the reason where there is no evidence."""
        answers = service.answers()
        return predicted(answers, answers.user(user), item)

    @routes.post("/predictions", summary="Predict ratings of anyone")
    async def predict_by(body: models.PredictBody) -> models.Predictions:
        """What someone with these ratings would rate items; nothing is stored."""
        answers = service.answers()
        asker = answers.guest([(one.item, one.rating) for one in body.ratings])
        return predicted(answers, asker, body.items)

    return routes
