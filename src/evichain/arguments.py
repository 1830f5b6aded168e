"""What users hand in, checked at the door: ids, lists of them, guests and tables."""

from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from evichain.errors import DataError, UnknownEntityError
from evichain.kernels import Floats, Ints
from evichain.ratings.catalogue import load_ratings
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings

_SLACK = 0.1


def as_ratings(ratings: Any) -> Ratings:
    """A `Ratings` as it is, or made from a table, or loaded by the name of a file or data set."""
    if isinstance(ratings, str | Path):
        return load_ratings(str(ratings))
    return ratings if isinstance(ratings, Ratings) else Ratings.from_frame(ratings)


def as_source(ratings: Any) -> Ratings | Graph:
    """As `as_ratings`; but a `Graph` is as it is, and a saved one is mapped instead of read."""
    if isinstance(ratings, str | Path):
        path = Path(ratings).expanduser()
        if Graph.is_at(path):
            return Graph.load(path)
    return ratings if isinstance(ratings, Graph) else as_ratings(ratings)


def as_later(ratings: Any, scale: Scale) -> Ratings:
    """Ratings that come after training, on the scale that a model was trained with.

    The ends of a continuous scale are but the farthest that were seen, so what is a little beyond
    them counts as they do; anything else off the scale is no rating that the model knows of.
    """
    table = as_ratings(ratings)
    values = table.frame["rating"]
    slack = 0.0 if scale.levelled else _SLACK * (scale.high - scale.low)
    off = ~values.is_between(scale.low - slack, scale.high + slack)
    if off.any():
        user, item, rating = table.frame.filter(off).row(0)[:3]
        raise DataError(
            f"the rating {rating:g} of item {item!r} by user {user!r} is off the scale",
            where=table.name,
            right=f"Ratings of this model go from {scale.low:g} to {scale.high:g}.",
        )
    return table.on(scale)


def is_id(value: object) -> TypeGuard[Id]:
    """Whether it is a single id."""
    return isinstance(value, str | int | np.integer)


def listed(values: Any) -> list[Any]:
    """One id or many as a list."""
    if is_id(values):
        return [values]
    try:
        return list(values)
    except TypeError:
        raise DataError(
            f"{values!r} is neither an id nor a list of them",
            right="Ids are integers or strings.",
        ) from None


def broadcast(users: Any, items: Any) -> tuple[list[Any], list[Any]]:
    """Users and items as pairs: equally many of both, or one of either with many of the other.

    >>> broadcast("ann", [1, 2])
    (['ann', 'ann'], [1, 2])
    """
    left, right = listed(users), listed(items)
    longest = max(len(left), len(right))
    left, right = (one * longest if len(one) == 1 else one for one in (left, right))
    if len(left) != len(right):
        raise DataError(
            f"{len(left)} users but {len(right)} items",
            right="Give equally many of both, or one of either.",
        )
    return left, right


def how_many(n: Any) -> int:
    """A number of answers asked for."""
    if isinstance(n, int | np.integer) and n >= 0:
        return int(n)
    raise DataError(f"{n!r} is no number of answers", right="Ask for 0 or more.")


def known(graph: Graph, side: Side, identifier: object) -> int:
    """The index of an entity that must be there."""
    index = int(graph.ids[side].index([identifier])[0])
    if index == UNKNOWN:
        raise UnknownEntityError(
            f"unknown {side.noun} {identifier!r}",
            right=f"Add ratings of this {side.noun} first, with add().",
        )
    return index


def guest(graph: Graph, rated: Any) -> tuple[Ints, Floats]:
    """The items and ratings of someone who is in no graph; of a pair given twice, the last."""
    scale = graph.scale
    found: dict[int, float] = {}
    for pair in listed(rated):
        try:
            item, rating = pair
            value = float(rating)
        except (TypeError, ValueError):
            raise DataError(
                f"{pair!r} is no (item, rating) pair", right="Give pairs such as (50, 4.0)."
            ) from None
        if not scale.holds(value):
            raise DataError(
                f"the rating {value} of item {item!r} is off the scale",
                right=f"Ratings go from {scale.low:g} to {scale.high:g}.",
            )
        found[known(graph, Side.ITEM, item)] = value
    return np.array(list(found), np.int32), np.array(list(found.values()), np.float32)
