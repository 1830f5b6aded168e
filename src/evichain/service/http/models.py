"""What goes in and comes out, as JSON. Ids come out as text, whatever the store keeps."""

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt

from evichain.service.http.paths import told
from evichain.service.store.checks import (
    LARGEST,
    LARGEST_BATCH,
    LONGEST_ID,
    LONGEST_TITLE,
    SMALLEST,
)

MOST = 1000
"""Items in one list."""

_Text = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
_Whole = Annotated[StrictInt, Field(ge=SMALLEST, le=LARGEST)]


def _as_text(value: object) -> object:
    """An id that came as an integer, as text; anything else as it is."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole and SMALLEST <= value <= LARGEST else value  # type: ignore[operator]


Id = Annotated[_Text, BeforeValidator(_as_text, json_schema_input_type=_Text | _Whole)]
"""An id in a body: text, or an integer, which means the same."""
PathId = Annotated[str, Path(min_length=1, max_length=LONGEST_ID), AfterValidator(told)]
QueryIds = Annotated[list[_Text], Query(max_length=MOST)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
LATEST = 253_402_300_799
"""The last second of the year 9999."""
Seconds = Annotated[StrictInt, Field(ge=0, le=LATEST)]
Count = Annotated[int, Query(ge=1, le=MOST)]
Caution = Annotated[float, Query(ge=0, le=10, allow_inf_nan=False)]
Settled = Annotated[bool, Query()]
"""Whether to wait for all that follows from a write."""
Format = Literal["json", "svg", "text"]
_Within = Annotated[StrictInt, Field(ge=1, le=MOST)]


class Body(BaseModel):
    """Something sent; what it does not know is refused, so that no misspelling goes unnoticed."""

    model_config = ConfigDict(extra="forbid")


class RatingBody(Body):
    """A rating of one item by one user."""

    rating: Number
    timestamp: Seconds | None = None
    """Seconds since 1970; now, if it is left out."""


class Pair(Body):
    """Whose rating of what."""

    user: Id
    item: Id


class RatingRow(Pair):
    """Who rated what, how and when."""

    rating: Number
    timestamp: Seconds | None = None


class RatingRows(Body):
    """Many ratings."""

    ratings: Annotated[list[RatingRow], Field(max_length=LARGEST_BATCH)]


class Pairs(Body):
    """Many ratings to delete."""

    ratings: Annotated[list[Pair], Field(max_length=LARGEST_BATCH)]


class OwnRating(Body):
    """A rating of someone who is not stored."""

    item: Id
    rating: Number


OwnRatings = Annotated[list[OwnRating], Field(max_length=LARGEST_BATCH)]
Ids = Annotated[list[Id], Field(max_length=MOST)]


class RecommendBody(Body):
    """Ratings to recommend by; nothing is stored."""

    ratings: OwnRatings
    n: _Within = 10
    include_seen: bool = False
    caution: Annotated[Number, Field(ge=0, le=10)] = 0.0
    reasons: bool = False
    without: Ids = []


class PredictBody(Body):
    """Ratings to predict by, and what to predict."""

    ratings: OwnRatings
    items: Annotated[list[Id], Field(min_length=1, max_length=MOST)]


class ExplainBody(Body):
    """Ratings to explain by, and what to explain."""

    ratings: OwnRatings
    item: Id
    pieces: Annotated[StrictInt, Field(ge=1, le=20)] = 5
    depth: Annotated[StrictInt, Field(ge=0, le=3)] = 1
    without: Ids = []
    format: Format = "json"


class TitleBody(Body):
    """A title; null takes it away."""

    title: Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)] | None


class Written(BaseModel):
    """What came of ratings that were put; pairs that were given twice count once."""

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


class Alike(BaseModel):
    """An item and how alike it is, from -1 to 1."""

    id: str
    title: str
    similarity: float


class Similar(BaseModel):
    """Items like another, the most alike first."""

    items: list[Alike]


class Rated(BaseModel):
    """A rating of a user's."""

    item: str
    title: str
    rating: float
    timestamp: int | None


class UserRatings(BaseModel):
    """All ratings of a user, the latest last."""

    user: str
    ratings: list[Rated]


class Row(BaseModel):
    """Who rated what, how and when."""

    user: str
    item: str
    rating: float
    timestamp: int | None


class RatingsPage(BaseModel):
    """Some of all ratings; `after` is where the next page begins, null on the last."""

    ratings: list[Row]
    after: str | None


class Reason(BaseModel):
    """The rating of theirs that speaks most for an item, of up to 64 that are looked at."""

    item: str
    title: str
    rating: float
    contribution: float


class Suggestion(BaseModel):
    """An item, the rating expected, and how sure that is, where the model tells."""

    item: str
    title: str
    estimate: float
    std: float | None
    reason: Reason | None


class Recommendations(BaseModel):
    """The items that someone would rate highest."""

    items: list[Suggestion]
    version: int


class Prediction(BaseModel):
    """The rating expected; `reason` says why there is no chain of evidence, if there is none."""

    item: str
    title: str
    estimate: float
    std: float | None
    interval: tuple[float, float] | None
    reason: str | None


class Predictions(BaseModel):
    """What someone would rate items, in the order asked."""

    predictions: list[Prediction]
    version: int


class Piece(BaseModel):
    """A piece of evidence and what is behind it."""

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
    """The evidence behind a prediction: a tree for the user and one for the item."""

    model_config = ConfigDict(populate_by_name=True)

    schema_: Annotated[int, Field(alias="schema")]
    kind: str
    estimate: float
    reason: str | None
    user: Piece
    item: Piece


class ScaleSpan(BaseModel):
    """The lowest and the highest rating, and all of them where they are few."""

    low: float
    high: float
    levels: list[float]


class Overview(BaseModel):
    """How much there is, how good and how fast."""

    ratings: int
    users: int
    items: int
    parameters: int
    recipe: str
    scale: ScaleSpan
    version: int
    settled: int
    """The version up to which everyone's embedding is as the ratings make it."""
    recent_rmse: float | None
    """On the latest ratings, each judged before it was learned from."""
    recent_ratings: int
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    uptime_seconds: float


class Health(BaseModel):
    """Whether all is well."""

    status: Literal["ok"]


def texts(tree: dict[str, Any]) -> dict[str, Any]:
    """A trace's tree with ids as text."""
    tree["id"] = str(tree["id"])
    for piece in tree["pieces"]:
        texts(piece)
    return tree
