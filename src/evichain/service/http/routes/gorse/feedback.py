"""Feedback: ratings under another name."""

from collections.abc import Sequence

from fastapi import APIRouter

from evichain.ratings.side import Side
from evichain.service.http import models as own
from evichain.service.http.routes import ratings
from evichain.service.http.routes.gorse import models
from evichain.service.http.service import Service


def router(service: Service) -> APIRouter:
    """The routes about feedback."""
    routes = APIRouter(prefix="/api")
    store = service.live.store

    async def put(rows: Sequence[models.FeedbackBody], *, keep: bool = False) -> models.Success:
        found = [
            (one.user_id, one.item_id, rating(service, one.value), models.seconds(one.timestamp))
            for one in rows
        ]
        result = await ratings.written(service, found, keep=keep)
        return models.Success(row_affected=result.new + result.changed)

    @routes.post("/feedback", summary="Insert feedback, unless it is there")
    async def insert(body: models.Feedbacks) -> models.Success:
        """Ratings of pairs that have none yet; the others stay as they are."""
        return await put(body, keep=True)

    @routes.put("/feedback", summary="Insert or overwrite feedback")
    async def overwrite(body: models.Feedbacks) -> models.Success:
        """Ratings, whether or not the pairs have one."""
        return await put(body)

    async def page(n: int, cursor: str, kind: str) -> models.FeedbackPage:
        found = await service.store_threads(
            store.page, n, after=ratings.read_cursor(cursor) if cursor else None
        )
        return models.FeedbackPage(
            cursor=ratings.cursor(found.after) if found.after else "",
            feedback=[models.Feedback.of(row, kind) for row in found.ratings],
        )

    @routes.get("/feedback", summary="All feedback, page by page")
    async def everything(n: models.N = 10, cursor: models.Cursor = "") -> models.FeedbackPage:
        """All ratings as feedback."""
        return await page(n, cursor, models.RATING)

    @routes.get("/feedback/{type}", summary="All feedback of a type, page by page")
    async def of_type(
        type: own.PathId, n: models.N = 10, cursor: models.Cursor = ""
    ) -> models.FeedbackPage:
        """All ratings; types are not kept, so every type has them all."""
        return await page(n, cursor, type)

    async def pair(user: str, item: str, kind: str) -> list[models.Feedback]:
        who, what = service.native(Side.USER, user), service.native(Side.ITEM, item)
        found = await service.store_threads(store.get, who, what)
        return [models.Feedback.of(found, kind)] if found else []

    @routes.get("/feedback/{user}/{item}", summary="Feedback of a user on an item")
    async def of_pair(user: own.PathId, item: own.PathId) -> list[models.Feedback]:
        """The rating of a pair, if there is one."""
        return await pair(user, item, models.RATING)

    @routes.get("/feedback/{type}/{user}/{item}", summary="The same, of a type")
    async def of_typed_pair(
        type: own.PathId, user: own.PathId, item: own.PathId
    ) -> list[models.Feedback]:
        """The rating of a pair, if there is one."""
        return await pair(user, item, type)

    @routes.delete("/feedback/{user}/{item}", summary="Delete feedback")
    async def delete(user: own.PathId, item: own.PathId) -> models.Success:
        """Delete the rating of a pair."""
        found = await ratings.deleted(service, [(user, item)])
        return models.Success(row_affected=found.deleted)

    @routes.delete("/feedback/{type}/{user}/{item}", summary="The same, of a type")
    async def delete_typed(type: own.PathId, user: own.PathId, item: own.PathId) -> models.Success:
        """Delete the rating of a pair, whatever the type."""
        return await delete(user, item)

    async def history(side: Side, identifier: str, kind: str) -> list[models.Feedback]:
        found = await service.store_threads(
            store.ratings_of, side, service.native(side, identifier)
        )
        return [models.Feedback.of(row, kind) for row in found]

    @routes.get("/user/{user}/feedback", summary="Feedback of a user")
    @routes.get("/user/{user}/feedback/", include_in_schema=False)
    async def of_user(user: own.PathId) -> list[models.Feedback]:
        """All ratings of a user."""
        return await history(Side.USER, user, models.RATING)

    @routes.get("/user/{user}/feedback/{type}", summary="Feedback of a user, of a type")
    async def of_user_typed(user: own.PathId, type: own.PathId) -> list[models.Feedback]:
        """All ratings of a user."""
        return await history(Side.USER, user, type)

    @routes.get("/item/{item}/feedback", summary="Feedback on an item")
    @routes.get("/item/{item}/feedback/", include_in_schema=False)
    async def of_item(item: own.PathId) -> list[models.Feedback]:
        """All ratings of an item."""
        return await history(Side.ITEM, item, models.RATING)

    @routes.get("/item/{item}/feedback/{type}", summary="Feedback on an item, of a type")
    async def of_item_typed(item: own.PathId, type: own.PathId) -> list[models.Feedback]:
        """All ratings of an item."""
        return await history(Side.ITEM, item, type)

    return routes


def rating(service: Service, value: float | None) -> float:
    """The rating that feedback stands for.

    A value is cut to the scale. None, or 0 where the scale has no 0 (clients send it for none),
    is the rating that the settings name, or the best there is.
    """
    scale = service.live.snapshot.scale
    if value is None or (value == 0 and not scale.holds(0)):
        value = service.settings.feedback_rating
        value = scale.high if value is None else value
    return min(max(value, scale.low), scale.high)
