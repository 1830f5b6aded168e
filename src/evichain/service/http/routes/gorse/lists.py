"""Lists of items and users: recommended, similar, latest."""

from typing import Annotated, Any

from fastapi import APIRouter, Header

from evichain.answering import answers
from evichain.answering.asker import find_user, make_guest
from evichain.answering.ranking import most_similar
from evichain.errors import DataError, UnknownEntityError
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side
from evichain.service.http import models as own
from evichain.service.http.routes.gorse import models
from evichain.service.http.routes.gorse.feedback import rating
from evichain.service.http.service import Service
from evichain.service.live.snapshot import Snapshot


def router(service: Service) -> APIRouter:
    """The routes that give lists."""
    routes = APIRouter(prefix="/api")
    scored: dict[str, Any] = {"response_model": list[models.Score] | list[str]}

    def popular(n: int) -> list[models.Score]:
        snapshot, found = service.live.snapshot, []
        for position in service.counts().most_rated(snapshot, n):
            mean = float(snapshot.row(Side.ITEM, position)[1].mean())
            item = str(snapshot.ids[Side.ITEM][position])
            found.append(models.Score(id=item, score=mean))
        return found

    @routes.get("/recommend/{user}", summary="Recommend to a user", **scored)
    @routes.get("/recommend/{user}/", include_in_schema=False, **scored)
    async def recommend(
        user: own.PathId,
        n: models.N = 10,
        offset: models.Offset = 0,
        version: Annotated[str, Header(alias="X-API-Version")] = "1",
    ) -> list[models.Score] | list[str]:
        """The items that a user would rate highest: ids, with `X-API-Version: 2` also scores.

        For users without ratings, the items with most ratings; their score is the mean.
        """
        backend = service.backend
        if backend.index(Side.USER, user) == UNKNOWN:
            found = await service.compute_threads(popular, n + offset)
        else:
            best = answers.recommend(backend, find_user(backend, user), n + offset)
            found = [models.Score(id=str(one.item), score=one.estimate) for one in best]
        found = found[offset:]
        return found if version == "2" else [one.id for one in found]

    @routes.get("/recommend/{user}/{category}", summary="Recommend from a category")
    async def recommend_category(user: own.PathId, category: own.PathId) -> list[models.Score]:
        """Refused: categories are not supported."""
        raise DataError("categories are not supported", right="Ask without one.")

    @routes.post("/session/recommend", summary="Recommend to a guest")
    async def session(
        body: models.Session, n: models.N = 10, offset: models.Offset = 0
    ) -> list[models.Score]:
        """The items that a guest with this feedback would rate highest; nothing is stored."""
        backend = service.backend
        rated = [(one.item_id, rating(service, one.value)) for one in body]
        best = answers.recommend(backend, make_guest(backend, rated), n + offset)[offset:]
        return [models.Score(id=str(one.item), score=one.estimate) for one in best]

    @routes.get("/item/{item}/neighbors", summary="Items like another")
    @routes.get("/item/{item}/neighbors/", include_in_schema=False)
    async def items_like(
        item: own.PathId, n: models.N = 10, offset: models.Offset = 0
    ) -> list[models.Score]:
        """The items with the most similar embeddings."""
        found = answers.similar_items(service.backend, item, n + offset)[offset:]
        return [models.Score(id=str(one.item), score=one.similarity) for one in found]

    @routes.get("/user/{user}/neighbors", summary="Users like another")
    @routes.get("/user/{user}/neighbors/", include_in_schema=False)
    async def users_like(
        user: own.PathId, n: models.N = 10, offset: models.Offset = 0
    ) -> list[models.Score]:
        """The users with the most similar embeddings at depth 1."""
        snapshot = service.live.snapshot
        return (await service.compute_threads(neighbours, snapshot, user, n + offset))[offset:]

    @routes.get("/latest", summary="The items that came last")
    async def latest(n: models.N = 10, offset: models.Offset = 0) -> list[models.Score]:
        """The items most recently rated for the first time; the score is their position."""
        snapshot = service.live.snapshot
        found: list[models.Score] = []
        for position in reversed(range(len(snapshot.rows[Side.ITEM]))):
            if len(found) == n + offset:
                break
            if len(snapshot.row(Side.ITEM, position)[0]):
                item = str(snapshot.ids[Side.ITEM][position])
                found.append(models.Score(id=item, score=position))
        return found[offset:]

    return routes


def neighbours(snapshot: Snapshot, user: str, n: int) -> list[models.Score]:
    """The users most similar to another, by the cosine of their embeddings at depth 1."""
    index = snapshot.index(Side.USER, user)
    if index == UNKNOWN:
        raise UnknownEntityError(f"unknown user {user!r}")
    layer = snapshot.layers.get((1, Side.USER))
    if layer is None or not layer.has_embedding[index]:
        return []
    found, cosines = most_similar(layer.rows.whole(), layer.has_embedding.whole(), index, n)
    id_index = snapshot.ids[Side.USER]
    return [
        models.Score(id=str(id_index[position]), score=cosine)
        for position, cosine in zip(found.tolist(), cosines.tolist(), strict=True)
    ]
