"""Users and items in gorse's API."""

from collections.abc import Sequence

from fastapi import APIRouter

from evichain.errors import DataError, UnknownEntityError
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.side import Side
from evichain.service.http import models as own
from evichain.service.http.routes.gorse import models
from evichain.service.http.service import Service
from evichain.service.live.snapshot import Snapshot
from evichain.service.store import LARGEST_BATCH


def router(service: Service) -> APIRouter:
    """The routes about users and items."""
    routes = APIRouter(prefix="/api")
    store = service.live.store

    # Users

    @routes.post("/user", summary="Insert a user")
    async def insert_user(body: models.UserBody) -> models.Success:
        """Changes nothing: users are those who have rated something."""
        return models.Success(row_affected=0)

    @routes.post("/users", summary="Insert users")
    async def insert_users(body: list[models.UserBody]) -> models.Success:
        """Changes nothing: users are those who have rated something."""
        return models.Success(row_affected=0)

    @routes.get("/users", summary="All users, page by page")
    async def users(n: models.N = 10, cursor: models.Cursor = "") -> models.UserPage:
        """Users with ratings."""
        found, after = some(service.live.snapshot, Side.USER, n, cursor)
        return models.UserPage(
            cursor=after, users=[models.User(user_id=str(user)) for user in found]
        )

    @routes.get("/user/{user}", summary="A user")
    async def get_user(user: own.PathId) -> models.User:
        """A user with ratings."""
        _known(service.live.snapshot, Side.USER, user)
        return models.User(user_id=user)

    @routes.patch("/user/{user}", summary="Change a user")
    async def change_user(user: own.PathId, body: models.UserPatch) -> models.Success:
        """Changes nothing: labels are not kept."""
        _known(service.live.snapshot, Side.USER, user)
        return models.Success(row_affected=0)

    @routes.delete("/user/{user}", summary="Erase a user")
    async def erase_user(user: own.PathId) -> models.Success:
        """Erase a user and all their ratings."""
        who = service.native(Side.USER, user)
        count = await service.write(lambda: store.erase(who), refresh=True)
        return models.Success(row_affected=count)

    # Items

    async def name(titles: dict[Id, str | None]) -> models.Success:
        changed = await service.write(lambda: store.put_titles(titles))
        return models.Success(row_affected=changed)

    def titles_of(items: Sequence[models.ItemBody]) -> dict[Id, str | None]:
        return {service.native(Side.ITEM, one.item_id): one.comment for one in items if one.comment}

    def item_of(item: str) -> models.Item:
        return models.Item(item_id=item, comment=service.live.titles.title(item))

    @routes.post("/item", summary="Insert an item")
    async def insert_item(body: models.ItemBody) -> models.Success:
        """Keep the comment of an item as its title."""
        return await name(titles_of([body]))

    @routes.post("/items", summary="Insert items")
    async def insert_items(body: list[models.ItemBody]) -> models.Success:
        """Keep the comments of items as their titles."""
        return await name(titles_of(body))

    @routes.get("/items", summary="All items, page by page, or a search")
    async def items(
        n: models.N = 10, cursor: models.Cursor = "", q: models.Cursor = ""
    ) -> models.ItemPage:
        """Items with ratings; with `q`, those with such a title."""
        if q:
            hits = await service.compute_threads(service.backend.search, q, n)
            return models.ItemPage(cursor="", items=[item_of(str(hit)) for hit in hits])
        found, after = some(service.live.snapshot, Side.ITEM, n, cursor)
        return models.ItemPage(cursor=after, items=[item_of(str(item)) for item in found])

    def known_item(item: str) -> None:
        if service.live.titles.title(item) == item:
            _known(service.live.snapshot, Side.ITEM, item)

    @routes.get("/item/{item}", summary="An item")
    async def get_item(item: own.PathId) -> models.Item:
        """An item with ratings or a title."""
        known_item(item)
        return item_of(item)

    @routes.patch("/item/{item}", summary="Change an item")
    async def change_item(item: own.PathId, body: models.ItemPatch) -> models.Success:
        """Keep the comment of an item as its title."""
        known_item(item)
        return await name({service.native(Side.ITEM, item): body.comment} if body.comment else {})

    @routes.delete("/item/{item}", summary="Delete an item")
    async def delete_item(item: own.PathId) -> models.Success:
        """Delete all ratings of an item, and its title."""
        what = service.native(Side.ITEM, item)

        def delete() -> int:
            pairs = [(row.user, row.item) for row in store.ratings_of(Side.ITEM, what)]
            parts = range(0, len(pairs), LARGEST_BATCH)
            deleted = sum(store.delete(pairs[at : at + LARGEST_BATCH]) for at in parts)
            return deleted + store.put_titles({what: None})

        return models.Success(row_affected=await service.write(delete))

    return routes


def some(snapshot: Snapshot, side: Side, n: int, cursor: str) -> tuple[list[Id], str]:
    """Some entities that have ratings, and the cursor of the next ones."""
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 12):
        raise DataError("invalid cursor", right="Give the cursor of the previous page.")
    id_index = snapshot.ids[side]
    found: list[Id] = []
    for index in range(int(cursor or 0), len(snapshot.rows[side])):
        if not len(snapshot.row(side, index)[0]):
            continue
        if len(found) == n:
            return found, str(index)
        found.append(id_index[index])
    return found, ""


def _known(snapshot: Snapshot, side: Side, identifier: str) -> None:
    if snapshot.index(side, identifier) == UNKNOWN:
        raise UnknownEntityError(f"unknown {side.noun} {identifier!r}")
