"""What is in a ratings table, in numbers."""

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
    """Counts, density, scale, levels, ratings per entity, duplicates, time and titles."""
    frame = ratings.frame
    degrees = {side: frame.group_by(side.column).len()["len"] for side in Side}
    users, items = (len(degrees[side]) for side in Side)
    counts = frame["rating"].value_counts().sort("rating")
    levelled = len(counts) <= MAX_LEVELS
    return {
        "data": ratings.name,
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
    facts: dict[str, Cell] = {
        "ratings": found["ratings"],
        "users": found["users"],
        "items": found["items"],
        "density": f"{found['density']:.3%}",
        "scale": _scale(found),
        "mean rating": found["mean"],
        "from": found["from"],
        "to": found["to"],
        "titles": f"{found['titles']:,} of {found['items']:,} items",
        "duplicates dropped": found["duplicates"],
    }
    print_facts(found["data"], facts)
    names = list(_QUANTILES)
    rows = [(noun, *(q[name] for name in names)) for noun, q in found["ratings_per"].items()]
    print_table("Ratings per entity", ("", *names), rows)
    if found["levels"]:
        counts = [(level["rating"], level["count"]) for level in found["levels"]]
        most = max(count for _, count in counts)
        levels = [
            (rating, count, f"{count / found['ratings']:.1%}", "#" * round(_BAR * count / most))
            for rating, count in counts
        ]
        print_table("Levels", ("rating", "count", "share", ""), levels)


def _scale(found: dict[str, Any]) -> str:
    levels = found["levels"]
    kind = f"{len(levels)} levels" if levels else "continuous"
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
