"""Checks of what users pass in: ids, lists of ids, and the ratings of guests."""

from collections.abc import Mapping
from itertools import chain
from typing import Any, TypeGuard

import numpy as np

from evichain.errors import DataError, UnknownEntityError
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.side import Side


def is_id(value: object) -> TypeGuard[Id]:
    """Whether a value is a single id."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def is_guest(value: object) -> bool:
    """Whether a value is the (item, rating) pairs of a guest: pairs, never ids."""
    if isinstance(value, Mapping):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 1
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(pair, list | tuple) for pair in value)


def as_list(values: Any) -> list[Any]:
    """One id or many as a list."""
    if is_id(values):
        return [values]
    try:
        return list(values)
    except TypeError:
        raise DataError(
            f"{values!r} is neither an id nor a list of them", right="Ids are integers or strings."
        ) from None


def how_many(n: Any) -> int:
    """A number of answers asked for."""
    if isinstance(n, int | np.integer) and n >= 0:
        return int(n)
    raise DataError(f"{n!r} is not a valid number of results", right="Ask for 0 or more.")


def broadcast(users: Any, items: Any) -> tuple[list[Any], list[Any]]:
    """As many users as items: a single one is repeated for each of the others.

    >>> broadcast(7, [1, 2])
    ([7, 7], [1, 2])
    """
    left, right = as_list(users), as_list(items)
    for one in chain(left, right):
        if isinstance(one, list | tuple | np.ndarray):
            raise DataError(
                f"{one!r} is not an id", right="Give ids, or a list of (item, rating) pairs alone."
            )
    if len(left) == 1:
        left = left * len(right)
    elif len(right) == 1:
        right = right * len(left)
    if len(left) != len(right):
        raise DataError(f"{len(left)} users but {len(right)} items", right="Give as many of each.")
    return left, right


def known(graph: Graph, side: Side, identifier: object) -> int:
    """The index of an entity that must be there."""
    index = int(graph.ids[side].index([identifier])[0])
    if index == UNKNOWN:
        raise UnknownEntityError(
            f"unknown {side.noun} {identifier!r}", right=f"Name a {side.noun} that has ratings."
        )
    return index
