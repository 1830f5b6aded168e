"""Ratings: add, change, delete and list them; erase a user."""

import base64
import binascii
import json
import time
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from evichain.errors import DataError, UnknownEntityError
from evichain.ratings.ids import Id
from evichain.ratings.side import Side
from evichain.service.http import models
from evichain.service.http.service import Service
from evichain.service.store import LARGEST_BATCH
from evichain.service.store.records import Rating, Written

LARGEST_PAGE = 1000


def router(service: Service) -> APIRouter:
    """The routes about ratings."""
    routes = APIRouter(prefix="/v1", tags=["ratings"])
    store = service.live.store

    @routes.put("/users/{user}/ratings/{item}", summary="Put a rating")
    async def put(
        user: models.PathId,
        item: models.PathId,
        body: models.RatingBody,
        refresh: models.Refresh = False,
    ) -> models.Written:
        """Add or change a rating.

        When this is answered it is on disk and counts in the user's next answer. The embeddings
        of other entities are refreshed soon after; with `refresh`, before this is answered.
        """
        rows = [(user, item, body.rating, body.timestamp)]
        return await written(service, rows, refresh=refresh)

    @routes.delete("/users/{user}/ratings/{item}", summary="Delete a rating")
    async def delete(
        user: models.PathId, item: models.PathId, refresh: models.Refresh = False
    ) -> models.Deleted:
        """Delete a rating, if there is one."""
        return await deleted(service, [(user, item)], refresh=refresh)

    @routes.get("/users/{user}/ratings", summary="All ratings of a user")
    async def of_user(user: models.PathId) -> models.UserRatings:
        """All ratings of a user with titles, the latest last."""
        found = await service.store_threads(
            store.ratings_of, Side.USER, service.native(Side.USER, user)
        )
        if not found:
            raise UnknownEntityError(f"unknown user {user!r}", right="Name a user who has ratings.")
        title = service.live.titles.title
        return models.UserRatings(
            user=str(found[0].user),
            ratings=[
                models.UserRating(
                    item=str(row.item),
                    title=title(row.item),
                    rating=row.rating,
                    timestamp=row.timestamp,
                )
                for row in found
            ],
        )

    @routes.delete("/users/{user}", summary="Erase a user", tags=["users"])
    async def erase(user: models.PathId) -> models.Deleted:
        """Erase all ratings of a user, from the log of changes too.

        All answers are then as if the ratings had never been given.
        """
        who = service.native(Side.USER, user)
        count = await service.write(lambda: store.erase(who), refresh=True)
        return models.Deleted(deleted=count, version=service.live.snapshot.version)

    @routes.post("/ratings", summary="Put many ratings")
    async def put_many(body: models.RatingsBody, refresh: models.Refresh = False) -> models.Written:
        """Add or change up to 10,000 ratings: all of them, or none."""
        rows = [(row.user, row.item, row.rating, row.timestamp) for row in body.ratings]
        return await written(service, rows, refresh=refresh)

    @routes.post("/ratings/delete", summary="Delete many ratings")
    async def delete_many(
        body: models.PairsBody, refresh: models.Refresh = False
    ) -> models.Deleted:
        """Delete up to 10,000 ratings; those that do not exist are ignored."""
        pairs = [(pair.user, pair.item) for pair in body.ratings]
        return await deleted(service, pairs, refresh=refresh)

    @routes.get("/ratings", summary="All ratings, page by page")
    async def page(
        after: Annotated[str | None, Query(max_length=4 * LARGEST_PAGE)] = None,
        limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE)] = 100,
    ) -> models.RatingsPage:
        """A page of ratings, ordered by ids; `after` is the `after` of the previous page."""
        position = None if after is None else read_cursor(after)
        found = await service.store_threads(store.page, limit, after=position)
        return models.RatingsPage(
            ratings=[row_of(row) for row in found.ratings],
            after=None if found.after is None else cursor(found.after),
        )

    return routes


def row_of(row: Rating) -> models.StoredRating:
    """The JSON of a rating."""
    return models.StoredRating(
        user=str(row.user), item=str(row.item), rating=row.rating, timestamp=row.timestamp
    )


async def written(
    service: Service,
    rows: Sequence[tuple[str, str, float, int | None]],
    *,
    refresh: bool = False,
    keep: bool = False,
) -> models.Written:
    """Add ratings that are on the scale; the default time is now.

    Args:
        keep: do not change pairs that have a rating.
    """
    scale, now = service.live.snapshot.scale, int(time.time())
    for number, (_, _, rating, _) in enumerate(rows, start=1):
        if not scale.holds(rating):
            raise DataError(
                f"rating {number} is {rating:g}",
                right=f"Ratings go from {scale.low:g} to {scale.high:g} here.",
            )

    def put() -> Written:
        return service.live.store.put(
            (
                (
                    service.native(Side.USER, user),
                    service.native(Side.ITEM, item),
                    rating,
                    now if at is None else at,
                )
                for user, item, rating, at in rows
            ),
            # Another process may have added them meanwhile with the other id type.
            adopt=True,
            keep=keep,
        )

    result = await service.write(put, refresh=refresh)
    service.metrics.written.inc(result.new + result.changed)
    return models.Written(**result._asdict(), version=service.live.snapshot.version)


async def deleted(
    service: Service, pairs: Sequence[tuple[str, str]], *, refresh: bool = False
) -> models.Deleted:
    """Delete ratings."""

    def delete() -> int:
        return service.live.store.delete(
            (service.native(Side.USER, user), service.native(Side.ITEM, item))
            for user, item in pairs
        )

    count = await service.write(delete, refresh=refresh)
    return models.Deleted(deleted=count, version=service.live.snapshot.version)


def cursor(after: tuple[Id, Id]) -> str:
    """The start of a page as an opaque text."""
    return base64.urlsafe_b64encode(json.dumps(after).encode()).decode()


def read_cursor(text: str) -> tuple[Id, Id]:
    """The inverse of `cursor`."""
    try:
        user, item = json.loads(base64.b64decode(text.encode(), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise DataError("invalid cursor", right="Give the `after` of a page.") from None
    return user, item


assert LARGEST_PAGE <= LARGEST_BATCH
