"""Ratings for a verb, whole or split, with what the user should know of them said on stderr."""

from typing import TYPE_CHECKING

from evichain.cli._output import note

if TYPE_CHECKING:
    from evichain.ratings import Ratings


def load_parts(
    data: str, split: str | None, seed: int
) -> tuple["Ratings", "Ratings | None", str | None]:
    """The ratings to learn from, those to be tested on, and the split's name."""
    from evichain.ratings import load_ratings, load_split

    if split in (None, "none"):
        ratings = load_ratings(data)
        _say_duplicates(ratings)
        note(f"{ratings.name}: {len(ratings):,} ratings")
        return ratings, None, None
    assert split is not None
    parts = load_split(data, split, seed)
    _say_duplicates(parts.train)
    counts = f"{len(parts.train):,} ratings to train on, {len(parts.test):,} to test on"
    note(f"{parts.train.name}, {parts.name}: {counts}")
    return parts.train, parts.test, parts.name


def _say_duplicates(ratings: "Ratings") -> None:
    if ratings.duplicates:
        dropped = f"{ratings.duplicates:,} earlier ratings of pairs that were rated again"
        note(f"{ratings.name}: {dropped} were dropped")
