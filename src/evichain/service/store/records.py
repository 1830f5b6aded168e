"""What goes into a store and comes out of it: ratings, changes, pages and counts."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evichain.ratings.ids import Id


class Rating(NamedTuple):
    """One rating; `timestamp` is in seconds since 1970, None where the time is not known."""

    user: "Id"
    item: "Id"
    rating: float
    timestamp: int | None = None


class Rated(NamedTuple):
    """A rating was added or changed."""

    version: int
    user: "Id"
    item: "Id"
    rating: float
    timestamp: int | None


class Unrated(NamedTuple):
    """A rating was deleted."""

    version: int
    user: "Id"
    item: "Id"


class Erased(NamedTuple):
    """A user was erased: all that is known of them has to be forgotten."""

    version: int
    user: "Id"


class Titled(NamedTuple):
    """An item was given a title, or lost it (None)."""

    version: int
    item: "Id"
    title: str | None


Change = Rated | Unrated | Erased | Titled


class Changes(NamedTuple):
    """Changes in the order in which they were committed.

    Attributes:
        changes: each with its version.
        version: up to where they reach; ask for what came since then next.
    """

    changes: list[Change]
    version: int


class Page(NamedTuple):
    """Some ratings in the order of their ids.

    Attributes:
        ratings: those of this page.
        after: where the next page begins; None when this is the last.
    """

    ratings: list[Rating]
    after: "tuple[Id, Id] | None"


class Counts(NamedTuple):
    """How much there is; users and items are those with ratings."""

    ratings: int
    users: int
    items: int
    titles: int


class Written(NamedTuple):
    """What came of ratings that were put, each pair counted once."""

    new: int
    changed: int
    unchanged: int


class Exported(NamedTuple):
    """How many ratings were written to a file, and how many of them have no timestamp."""

    ratings: int
    untimed: int
