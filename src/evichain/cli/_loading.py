"""Loads ratings for a command, whole or split, and reports on stderr what was read."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import typer

from evichain.cli._errors import OptionError
from evichain.cli._options import with_options
from evichain.cli._output import note

if TYPE_CHECKING:
    from evichain.ratings import Ratings
    from evichain.ratings.graph import Graph


Source = TypeVar("Source")

ItemsTable = Annotated[
    Path | None,
    typer.Option(
        "--items",
        metavar="FILE",
        help="A table with the titles of items; by default items.* or movies.* beside the ratings.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="user=NAME,...",
        help="The names of columns that are not recognized: user, item, rating, weight, event, "
        "timestamp, title.",
    ),
]
Events = Annotated[
    str | None,
    typer.Option(
        metavar="TYPE=WEIGHT,...",
        help="The weight of each type of event, if the data are interactions: "
        "view=1,cart=3,buy=5,dislike=-1. By default each counts 1.",
    ),
]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Skip and count rows that are not ratings.")
]
_OPTIONS = [
    Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, annotation, default in (
        ("items", ItemsTable, None),
        ("columns", Columns, None),
        ("events", Events, None),
        ("skip_bad_rows", SkipBadRows, False),
    )
]


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --items, --columns, --events and --skip-bad-rows.

    They arrive in the command's parameter `reading`, ready for `load_ratings(data, **reading)`.
    """

    def reading(given: dict[str, Any]) -> dict[str, Any]:
        columns, events = parse_columns(given["columns"]), parse_events(given["events"])
        return {**given, "columns": columns, "events": events}

    return with_options(command, "reading", _OPTIONS, reading)


def parse_columns(text: str | None) -> dict[str, str] | None:
    """The columns named by `--columns user=NAME,item=NAME`."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(column.strip() and equals and name for column, equals, name in pairs):
        right = "Write user=customer_no,item=sku,rating=stars,timestamp=when, or some of these."
        raise OptionError(f"cannot read {text!r}", where="--columns", right=right)
    return {column.strip(): name for column, _, name in pairs}


def parse_events(text: str | None) -> dict[str, float] | None:
    """The weights given by `--events view=1,buy=5`."""
    if text is None:
        return None
    found = {}
    for part in text.split(","):
        event, equals, weight = part.rpartition("=")
        try:
            found[event.strip()] = float(weight)
        except ValueError:
            equals = ""
        if not equals or not event.strip() or not math.isfinite(found[event.strip()]):
            right = "Write view=1,cart=3,buy=5,dislike=-1, with your own event types."
            raise OptionError(f"cannot read {text!r}", where="--events", right=right)
    return found


@dataclass(frozen=True)
class Parts(Generic[Source]):
    """The ratings to train on, those that arrive after training, and those to test on."""

    train: Source
    later: "Ratings | None" = None
    test: "Ratings | None" = None
    name: str | None = None


def load_source(
    data: str, split: str | None, seed: int, reading: dict[str, Any] | None = None
) -> "Parts[Graph] | Parts[Ratings]":
    """As `load_parts`, but a saved graph that is not split is mapped instead of read."""
    from evichain.ratings.catalogue import local_path

    if split in (None, "none"):
        from evichain.ratings.graph import Graph

        path = local_path(data)
        if Graph.is_at(path):
            graph = Graph.load(path)
            note(f"{data}: {len(graph):,} {graph.noun}s, mapped")
            return Parts(graph)
    return load_parts(data, split, seed, reading)


def load_parts(
    data: str, split: str | None, seed: int, reading: dict[str, Any] | None = None
) -> "Parts[Ratings]":
    """The parts of a split, or all ratings without one."""
    from evichain.ratings import load_ratings, load_split

    if split in (None, "none"):
        ratings = load_ratings(data, **(reading or {}))
        print_notes(ratings)
        note(f"{ratings.name}: {len(ratings):,} {ratings.noun}s")
        return Parts(ratings)
    assert split is not None
    parts = load_split(data, split, seed, **(reading or {}))
    print_notes(parts.train, parts.test)
    counts = f"{len(parts.train):,} {parts.train.noun}s to train on"
    if parts.later is not None:
        counts += f", {len(parts.later):,} that come later"
    note(f"{parts.train.name}, {parts.name}: {counts}, {len(parts.test):,} to test on")
    return Parts(parts.train, parts.later, parts.test, parts.name)


def print_notes(*tables: "Ratings") -> None:
    """Print what was ignored, skipped and dropped; equal notes of several parts once."""
    lines = [line for ratings in tables for line in ratings.notes]
    first = tables[0]
    if first.duplicates and not first.interactions:
        dropped = f"{first.duplicates:,} earlier ratings of a pair were dropped"
        lines.append(f"{first.name}: {dropped}")
    for line in dict.fromkeys(lines):
        note(line)
