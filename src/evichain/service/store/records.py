"""Records of a store: ratings, changes, pages and counts."""

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
    """A user was erased, with all ratings."""

    version: int
    user: "Id"


class Titled(NamedTuple):
    """An item got a title, or lost it (None)."""

    version: int
    item: "Id"
    title: str | None


Change = Rated | Unrated | Erased | Titled


class Changes(NamedTuple):
    """Changes in commit order.

    Attributes:
        changes: each with its version.
        version: the version that they lead to; ask for the changes since it next.
    """

    changes: list[Change]
    version: int


class Page(NamedTuple):
    """Some ratings in the order of their ids.

    Attributes:
        ratings: those of this page.
        after: where the next page begins; None on the last page.
    """

    ratings: list[Rating]
    after: "tuple[Id, Id] | None"


class Counts(NamedTuple):
    """The size of a store; users and items are those with ratings."""

    ratings: int
    users: int
    items: int
    titles: int


class Written(NamedTuple):
    """The result of adding ratings, each pair counted once."""

    new: int
    changed: int
    unchanged: int


class Exported(NamedTuple):
    """How many ratings were written to a file, and how many of them have no timestamp."""

    ratings: int
    untimed: int
