"""Checks of what users pass in: ids, lists of ids, and the ratings of guests."""

from typing import Any, TypeGuard

import numpy as np

from evichain.errors import DataError, UnknownEntityError
from evichain.kernels import Floats, Ints
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.side import Side


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
