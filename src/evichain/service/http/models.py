"""The JSON of requests and answers. Ids are text in answers, whatever their type in the store."""

from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt
from pydantic_core import PydanticCustomError

from evichain.answering.asker import Asker, make_guest
from evichain.answering.backend import Backend
from evichain.service.http.paths import decode_id
from evichain.service.store.checks import (
    LARGEST,
    LARGEST_BATCH,
    LONGEST_ID,
    LONGEST_TITLE,
    SMALLEST,
)

MAX_LIST = 1000
"""The largest number of items in a list."""

_Text = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
_Whole = Annotated[StrictInt, Field(ge=SMALLEST, le=LARGEST)]


def _as_text(value: object) -> object:
    """An integer id as text; text unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and SMALLEST <= value <= LARGEST:
        return str(value)
    raise PydanticCustomError("id", "An id is text or an integer of 64 bits")


Id = Annotated[_Text, BeforeValidator(_as_text, json_schema_input_type=_Text | _Whole)]
"""An id in a body: text, or an integer, which means the same."""
PathId = Annotated[str, Path(min_length=1, max_length=LONGEST_ID), AfterValidator(decode_id)]
QueryIds = Annotated[list[_Text], Query(max_length=MAX_LIST)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
LATEST = 253_402_300_799
"""The last second of the year 9999."""
Seconds = Annotated[StrictInt, Field(ge=0, le=LATEST)]
Count = Annotated[int, Query(ge=1, le=MAX_LIST)]
Caution = Annotated[float, Query(allow_inf_nan=False)]
Refresh = Annotated[bool, Query()]
"""Whether a write waits until the embeddings are refreshed."""
Format = Literal["json", "svg", "text"]
_Within = Annotated[StrictInt, Field(ge=1, le=MAX_LIST)]


class Body(BaseModel):
    """The body of a request; unknown fields are refused, so that misspellings are noticed."""

    model_config = ConfigDict(extra="forbid")


class RatingBody(Body):
    """A rating of one item by one user."""

    rating: Number
    timestamp: Seconds | None = None
    """Seconds since 1970; now by default."""


class Pair(Body):
    """A user and an item."""

    user: Id
    item: Id


class RatingEntry(Pair):
    """A rating with its user, item and time."""

    rating: Number
    timestamp: Seconds | None = None


class RatingsBody(Body):
    """Many ratings."""

    ratings: Annotated[list[RatingEntry], Field(max_length=LARGEST_BATCH)]


class PairsBody(Body):
    """Many ratings to delete."""

    ratings: Annotated[list[Pair], Field(max_length=LARGEST_BATCH)]


class GuestRating(Body):
    """A rating of a guest."""

    item: Id
    rating: Number


GuestRatings = Annotated[list[GuestRating], Field(max_length=LARGEST_BATCH)]
Ids = Annotated[list[Id], Field(max_length=MAX_LIST)]


class GuestBody(Body):
    """The ratings of a guest, some of which may be left out; nothing is stored."""

    ratings: GuestRatings
    without: Ids = []

    def asker(self, backend: Backend) -> Asker:
        """The guest."""
        return make_guest(backend, [(one.item, one.rating) for one in self.ratings], self.without)


class RecommendBody(GuestBody):
    """A guest's ratings, and options of a list."""

    n: _Within = 10
    include_seen: bool = False
    caution: Number = 0.0
    reasons: bool = False


class PredictBody(GuestBody):
    """A guest's ratings, and the items to predict."""

    items: Annotated[list[Id], Field(min_length=1, max_length=MAX_LIST)]


class ExplainBody(GuestBody):
    """A guest's ratings, and the item to explain."""

    item: Id
    pieces: Annotated[StrictInt, Field(ge=1, le=20)] = 5
    depth: Annotated[StrictInt, Field(ge=0, le=3)] = 2
    format: Format = "json"


class TitleBody(Body):
    """A title; null removes it."""

    title: Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)] | None


class Written(BaseModel):
    """The result of adding ratings; pairs given twice count once."""

    new: int
    changed: int
    unchanged: int
    version: int


class Deleted(BaseModel):
    """How many ratings there were to delete."""

    deleted: int
    version: int


class Item(BaseModel):
    """An item and how many ratings it has."""

    id: str
    title: str
    ratings: int


class ItemDetails(Item):
    """An item, with the mean of its ratings."""

    mean: float | None


class Items(BaseModel):
    """Some items."""

    items: list[Item]


class Similar(BaseModel):
    """An item and how similar it is, from -1 to 1."""

    item: str
    title: str
    similarity: float


class SimilarItems(BaseModel):
    """Items like another, the most similar first."""

    item: str
    similar: list[Similar]


class UserRating(BaseModel):
    """A rating of a user."""

    item: str
    title: str
    rating: float
    timestamp: int | None


class UserRatings(BaseModel):
    """All ratings of a user, the latest last."""

    user: str
    ratings: list[UserRating]


class StoredRating(BaseModel):
    """A rating with its user, item and time."""

    user: str
    item: str
    rating: float
    timestamp: int | None


class RatingsPage(BaseModel):
    """Some of all ratings; `after` is where the next page begins, null on the last."""

    ratings: list[StoredRating]
    after: str | None


class Reason(BaseModel):
    """The rating whose removal would lower the estimate most, of up to 64 that are tried."""

    item: str
    title: str
    rating: float
    contribution: float


class Recommendation(BaseModel):
    """An item, the expected rating, its standard deviation and its 80 % interval."""

    item: str
    title: str
    estimate: float
    std: float | None
    interval: tuple[float, float] | None
    reason: Reason | None


class Recommendations(BaseModel):
    """The items that someone would rate highest; `ignored` are unknown items that were given."""

    user: str | None
    recommendations: list[Recommendation]
    ignored: list[str]
    version: int


class Prediction(BaseModel):
    """The expected rating; `reason` says why there is no chain of evidence, if there is none."""

    user: str | None
    item: str
    title: str
    estimate: float
    std: float | None
    interval: tuple[float, float] | None
    reason: str | None


class Predictions(BaseModel):
    """How someone would rate items, in the order asked."""

    predictions: list[Prediction]
    ignored: list[str]
    version: int


class Piece(BaseModel):
    """A piece of evidence, and its own evidence."""

    side: Literal["user", "item"]
    id: str
    title: str
    depth: int
    rating: float | None
    prototype: bool
    contribution: float
    own: float
    pieces: list["Piece"]
    others: int
    others_contribution: float


class Explanation(BaseModel):
    """The evidence of a prediction: a tree for the user and one for the item.

    `ignored` are unknown items that were given.
    """

    model_config = ConfigDict(populate_by_name=True)

    schema_: Annotated[int, Field(alias="schema")]
    kind: str
    estimate: float
    measure: str
    reason: str | None
    user: Piece
    item: Piece
    ignored: list[str]


class ScaleSpan(BaseModel):
    """The lowest and the highest rating, and all levels if they are few."""

    low: float
    high: float
    levels: list[float]


class Overview(BaseModel):
    """Counts, the model, its error on new ratings and its latency."""

    ratings: int
    users: int
    items: int
    parameters: int
    recipe: str
    scale: ScaleSpan
    version: int
    refreshed_version: int
    """The version of the ratings up to which all embeddings are refreshed."""
    recent_rmse: float | None
    """On the latest ratings, each predicted before it was added."""
    recent_ratings: int
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    uptime_seconds: float


class Health(BaseModel):
    """The state of the service."""

    status: Literal["ok"]
