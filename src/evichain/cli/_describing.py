"""What is in a table of ratings or interactions, in numbers."""

from datetime import UTC, datetime
from typing import Any

import polars as pl

from evichain.cli._output import Cell, print_facts, print_table
from evichain.ratings import Ratings, Side
from evichain.ratings.scale import MAX_LEVELS

_QUANTILES = {"min": 0.0, "10%": 0.1, "25%": 0.25, "median": 0.5, "75%": 0.75, "90%": 0.9}
_QUANTILES |= {"99%": 0.99, "max": 1.0}
_BAR = 30


def describe(ratings: Ratings) -> dict[str, Any]:
    """Counts, density, scale, levels, ratings per entity, duplicates, time and titles.

    Of interactions, the levels are those of their weights.
    """
    frame = ratings.frame
    degrees = {side: frame.group_by(side.column).len()["len"] for side in Side}
    users, items = (len(degrees[side]) for side in Side)
    counts = frame["rating"].value_counts().sort("rating")
    levelled = len(counts) <= MAX_LEVELS
    return {
        "data": ratings.name,
        "interactions": ratings.interactions,
        "events": [
            {"event": one.name, "count": one.found, "weight": one.weight} for one in ratings.events
        ]
        or None,
        "ratings": len(ratings),
        "users": users,
        "items": items,
        "density": len(ratings) / (users * items),
        "duplicates": ratings.duplicates,
        "mean": ratings.mean,
        "low": counts["rating"].min(),
        "high": counts["rating"].max(),
        "levels": counts.rows(named=True) if levelled else None,
        "ratings_per": {side.noun: _quantiles(degrees[side]) for side in Side},
        "from": _moment(frame, "min"),
        "to": _moment(frame, "max"),
        "titles": _titled(ratings),
    }


def print_description(found: dict[str, Any]) -> None:
    """Print a description as tables."""
    one, many = ("weight", "interactions") if found["interactions"] else ("rating", "ratings")
    facts: dict[str, Cell] = {
        many: found["ratings"],
        "users": found["users"],
        "items": found["items"],
        "density": f"{found['density']:.3%}",
        "weights" if found["interactions"] else "scale": _scale(found),
        f"mean {one}": found["mean"],
        "from": found["from"],
        "to": found["to"],
        "titles": f"{found['titles']:,} of {found['items']:,} items",
        "repeats added up" if found["interactions"] else "duplicates dropped": found["duplicates"],
    }
    print_facts(found["data"], facts)
    names = list(_QUANTILES)
    rows = [(noun, *(q[name] for name in names)) for noun, q in found["ratings_per"].items()]
    print_table(f"{many.capitalize()} per entity", ("", *names), rows)
    if found["events"]:
        events = [(each["event"], each["count"], each["weight"]) for each in found["events"]]
        print_table("Event types", ("event", "count", "weight"), events)
    if found["levels"]:
        counts = [(level["rating"], level["count"]) for level in found["levels"]]
        most = max(count for _, count in counts)
        levels = [
            (rating, count, f"{count / found['ratings']:.1%}", "#" * round(_BAR * count / most))
            for rating, count in counts
        ]
        title = "Weights" if found["interactions"] else "Levels"
        print_table(title, (one, "count", "share", ""), levels)


def _scale(found: dict[str, Any]) -> str:
    levels = found["levels"]
    kind = "continuous"
    if levels:
        kind = f"{len(levels)} level{'s' * (len(levels) > 1)}"
    return f"{found['low']:g} to {found['high']:g}, {kind}"


def _quantiles(degrees: pl.Series) -> dict[str, int]:
    return {
        name: int(degrees.quantile(q, interpolation="lower") or 0) for name, q in _QUANTILES.items()
    }


def _moment(frame: pl.DataFrame, which: str) -> str | None:
    if "timestamp" not in frame.columns:
        return None
    seconds: int = getattr(frame["timestamp"], which)()
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # no year that a calendar has
        return str(seconds)


def _titled(ratings: Ratings) -> int:
    """How many of the rated items have a title."""
    if ratings.titles is None:
        return 0
    rated = ratings.frame.select("item_id").unique()
    return len(rated.join(ratings.titles, on="item_id", how="semi"))
