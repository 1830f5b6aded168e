"""Items: search, details, similar items and titles."""

from typing import Annotated

from fastapi import APIRouter, Query

from evichain.answering.answers import similar_items, unknown_item
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side
from evichain.service.http import models
from evichain.service.http.service import Service
from evichain.service.live.snapshot import Snapshot
from evichain.service.store import LONGEST_TITLE


def router(service: Service) -> APIRouter:
    """The routes about items."""
    routes = APIRouter(prefix="/v1/items", tags=["items"])

    def search(text: str, n: int) -> list[models.Item]:
        backend = service.backend
        if text.strip():
            return [
                models.Item(
                    id=str(item), title=backend.title(item), ratings=backend.ratings_of(item)
                )
                for item in backend.search(text, n)
            ]
        popular = service.counts().most_rated(backend, n)
        return [details(backend, str(backend.identifier(Side.ITEM, index))) for index in popular]

    def details(backend: Snapshot, item: str) -> models.ItemDetails:
        index, title = backend.index(Side.ITEM, item), backend.title(item)
        if index == UNKNOWN and title == item:
            raise unknown_item(item)
        ratings = backend.row(Side.ITEM, index)[1]
        mean = float(ratings.mean()) if len(ratings) else None
        return models.ItemDetails(id=item, title=title, ratings=len(ratings), mean=mean)

    @routes.get("", summary="Search for items")
    async def find(
        search_: Annotated[str, Query(alias="search", max_length=LONGEST_TITLE)] = "",
        n: models.Count = 10,
    ) -> models.Items:
        """The items whose titles contain every word; without words those with most ratings."""
        return models.Items(items=await service.compute_threads(search, search_, n))

    @routes.get("/{item}", summary="One item")
    async def one(item: models.PathId) -> models.ItemDetails:
        """The title of an item, how many ratings it has and their mean."""
        return details(service.backend, item)

    @routes.put("/{item}", summary="Set the title of an item")
    async def name(item: models.PathId, body: models.TitleBody) -> models.Item:
        """Set the title of an item, whether or not it has ratings."""
        native = service.native(Side.ITEM, item)
        await service.write(lambda: service.live.store.put_titles({native: body.title}))
        snapshot = service.live.snapshot
        ratings = len(snapshot.row(Side.ITEM, snapshot.index(Side.ITEM, native))[0])
        title = service.live.titles.title(native)
        return models.Item(id=str(native), title=title, ratings=ratings)

    @routes.get("/{item}/similar", summary="Similar items")
    async def similar(item: models.PathId, n: models.Count = 10) -> models.SimilarItems:
        """The items with the most similar embeddings."""
        return models.SimilarItems(**similar_items(service.backend, item, n).to_dict())

    return routes
