"""Ratings for a verb, whole or split, with what the user should know of them said on stderr."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from evichain.cli._output import note

if TYPE_CHECKING:
    from evichain.ratings import Ratings
    from evichain.ratings.graph import Graph


Source = TypeVar("Source")


@dataclass(frozen=True)
class Parts(Generic[Source]):
    """The ratings to learn from, those that come later and those to be tested on."""

    train: Source
    later: "Ratings | None" = None
    test: "Ratings | None" = None
    name: str | None = None


def load_source(data: str, split: str | None, seed: int) -> "Parts[Graph] | Parts[Ratings]":
    """As `load_parts`; but a saved graph that is not split is mapped instead of read."""
    from evichain.ratings.catalogue import local_path

    if split in (None, "none"):
        from evichain.ratings.graph import Graph

        path = local_path(data)
        if Graph.is_at(path):
            graph = Graph.load(path)
            note(f"{data}: {len(graph):,} ratings, mapped")
            return Parts(graph)
    return load_parts(data, split, seed)


def load_parts(data: str, split: str | None, seed: int) -> "Parts[Ratings]":
    """The parts of a split, or all ratings without one."""
    from evichain.ratings import load_ratings, load_split

    if split in (None, "none"):
        ratings = load_ratings(data)
        _say_duplicates(ratings)
        note(f"{ratings.name}: {len(ratings):,} ratings")
        return Parts(ratings)
    assert split is not None
    parts = load_split(data, split, seed)
    _say_duplicates(parts.train)
    counts = f"{len(parts.train):,} ratings to train on"
    if parts.later is not None:
        counts += f", {len(parts.later):,} that come later"
    note(f"{parts.train.name}, {parts.name}: {counts}, {len(parts.test):,} to test on")
    return Parts(parts.train, parts.later, parts.test, parts.name)


def _say_duplicates(ratings: "Ratings") -> None:
    if ratings.duplicates:
        dropped = f"{ratings.duplicates:,} earlier ratings of pairs that were rated again"
        note(f"{ratings.name}: {dropped} were dropped")
