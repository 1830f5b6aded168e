"""The JSON of gorse's API; the names are gorse's."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_pascal

from evichain.errors import DataError
from evichain.service.http.models import LATEST, MAX_LIST, Id, Number
from evichain.service.store import LARGEST_BATCH, LONGEST_TITLE
from evichain.service.store.checks import shown
from evichain.service.store.records import Rating

NO_TIME = "0001-01-01T00:00:00Z"
RATING = "rating"
"""The default type of feedback; types are not stored."""

N = Annotated[int, Query(ge=1, le=MAX_LIST)]
Offset = Annotated[int, Query(ge=0, le=10 * MAX_LIST)]
Cursor = Annotated[str, Query(max_length=4 * MAX_LIST)]


class Gorse(BaseModel):
    """An object of gorse's API; unknown fields are ignored."""

    model_config = ConfigDict(alias_generator=to_pascal, populate_by_name=True)


class FeedbackBody(Gorse):
    """Feedback that is sent."""

    user_id: Id
    item_id: Id
    feedback_type: str = RATING
    value: Number | None = None
    timestamp: str | None = None


class SessionFeedback(Gorse):
    """Feedback of someone who is not stored."""

    item_id: Id
    value: Number | None = None


Feedbacks = Annotated[list[FeedbackBody], Field(max_length=LARGEST_BATCH)]
Session = Annotated[list[SessionFeedback], Field(max_length=LARGEST_BATCH)]


class UserBody(Gorse):
    """A user that is sent."""

    user_id: Id


class ItemBody(Gorse):
    """An item that is sent."""

    item_id: Id
    comment: Annotated[str, Field(max_length=LONGEST_TITLE)] | None = None


class ItemPatch(Gorse):
    """What changes of an item."""

    comment: Annotated[str, Field(max_length=LONGEST_TITLE)] | None = None


class UserPatch(Gorse):
    """What changes of a user: nothing that is kept here."""


class Success(Gorse):
    """How many rows were changed."""

    row_affected: int


class Feedback(Gorse):
    """A rating as feedback."""

    feedback_type: str
    user_id: str
    item_id: str
    value: float
    timestamp: str
    comment: str = ""

    @classmethod
    def of(cls, row: Rating, kind: str = RATING) -> "Feedback":
        return cls(
            feedback_type=kind,
            user_id=str(row.user),
            item_id=str(row.item),
            value=row.rating,
            timestamp=iso(row.timestamp),
        )


class FeedbackPage(Gorse):
    """Some feedback, and where the next begins."""

    cursor: str
    feedback: list[Feedback]


class User(Gorse):
    """A user."""

    user_id: str
    labels: Any = None
    comment: str = ""


class UserPage(Gorse):
    """Some users, and where the next begin."""

    cursor: str
    users: list[User]


class Item(Gorse):
    """An item; its comment is its title."""

    item_id: str
    comment: str
    is_hidden: bool = False
    categories: list[str] = []
    labels: Any = None
    timestamp: str = NO_TIME


class ItemPage(Gorse):
    """Some items, and where the next begin."""

    cursor: str
    items: list[Item]


class Score(Gorse):
    """An id and how good or how alike."""

    id: str
    score: float


class Ready(Gorse):
    """Whether the store can be reached."""

    ready: bool


def iso(seconds: int | None) -> str:
    """A time as gorse writes it."""
    try:
        return NO_TIME if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%FT%TZ}"
    except (ValueError, OverflowError, OSError):
        return NO_TIME


def seconds(text: str | None) -> int | None:
    """The time that gorse's clients write, in seconds since 1970."""
    if not text or text == NO_TIME:
        return None
    try:
        found = datetime.fromisoformat(text)
        since = int(found.replace(tzinfo=found.tzinfo or UTC).timestamp())
    except (ValueError, OverflowError):
        since = -1
    if not 0 <= since <= LATEST:
        right = "Write it as 2024-05-17T12:00:00Z, from 1970 on."
        raise DataError(f"Timestamp {shown(text)} is not a time", right=right)
    return since
