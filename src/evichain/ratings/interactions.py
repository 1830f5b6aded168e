"""Interactions: what users did with items, without ratings, as one weight for each pair."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evichain.errors import DataError

# Not from `kernels`: tables are read without numba.
Floats = npt.NDArray[np.float32]
Longs = npt.NDArray[np.int64]

_SHOWN = 8
_LARGEST = float(np.finfo(np.float32).max)


class EventType(NamedTuple):
    """A type of event, how many were found, and the weight of one."""

    name: str
    found: int
    weight: float


def checked_events(events: Mapping[str, float] | None) -> dict[str, float] | None:
    """The weights of event types as a user gives them, by name; None if none are given."""
    if events is None:
        return None
    found = {}
    for name, weight in events.items():
        try:
            number = float(weight)
        except (TypeError, ValueError):
            number = math.nan
        if not abs(number) <= _LARGEST:
            raise DataError(
                f"the weight {weight!r} of event type {str(name)!r} is not a finite number",
                where="events",
                right="Give a number, such as {'view': 1, 'buy': 5, 'dislike': -1}.",
            )
        found[str(name)] = number
    if not found:
        right = "Name the event types, such as {'view': 1, 'buy': 5}, or leave it out."
        raise DataError("no event type has a weight", where="events", right=right)
    return found


def event_types(
    counts: Sequence[tuple[str, int]], weights: Mapping[str, float] | None, where: str
) -> tuple[EventType, ...]:
    """The event types found, the most frequent first. Without weights, every event counts 1.

    Raises:
        DataError: weights are given, but not of every type found.
    """
    ordered = sorted(counts, key=lambda one: (-one[1], one[0]))
    missing = [name for name, _ in ordered if weights is not None and name not in weights]
    if weights is not None and missing:
        whole = {**weights, **dict.fromkeys(missing, 1.0)}
        plural = "s" if len(missing) > 1 else ""
        raise DataError(
            f"no weight for event type{plural} {_listed([repr(name) for name in missing])}; "
            f"found: {_counted(ordered)}",
            where=where,
            right=f"Give every type a weight (0 leaves it out): {_option(whole)}; in Python, "
            "events={...}.",
        )
    known = weights or {}
    return tuple(EventType(name, count, known.get(name, 1.0)) for name, count in ordered)


def unweighted_note(types: Sequence[EventType], where: str) -> str:
    """What to say about event types when no weights are given."""
    found = _counted([(one.name, one.found) for one in types])
    option = _option({one.name: 1.0 for one in types})
    return f"{where}: every event counts 1 ({found}); to weigh them: {option}"


def repeats_note(count: int, where: str) -> str:
    """What to say about repeated interactions."""
    plural = "s were" if count > 1 else " was"
    return f"{where}: {count:,} repeated interaction{plural} added up"


def zeros_note(count: int, where: str) -> str:
    """What to say about interactions without any weight."""
    plural = "s" if count > 1 else ""
    return f"{where}: left out {count:,} interaction{plural} of weight 0"


def added_up(pairs: Longs, weights: Floats) -> Floats:
    """The weight of each pair from the weights of its events, in whatever order they came.

    With S the sum of a pair's weights and L the largest of them by size, the weight is S while
    `|S| <= L`, and `sign(S) L (1 + ln(|S| / L))` beyond. So one event of weight w keeps w, n events
    of weight w count w (1 + ln n), and a further positive event never lowers the weight.

    Args:
        pairs: the number of each event's pair, ascending from 0 without gaps.
        weights: of the events.

    >>> pairs, weights = np.array([0, 1, 1, 2, 2]), np.array([3, 1, 1, 5, -1], np.float32)
    >>> added_up(pairs, weights)
    array([3.       , 1.6931472, 4.       ], dtype=float32)
    """
    # A sum of floats depends on its order, so every pair's weights are put in the same one.
    order = np.lexsort((weights, pairs))
    pairs, ordered = pairs[order], weights[order].astype(np.float64)
    first = np.flatnonzero(np.r_[True, pairs[1:] != pairs[:-1]])
    last = np.r_[first[1:], len(pairs)] - 1
    sums = np.bincount(pairs, ordered)
    largest = np.maximum(np.abs(ordered[first]), np.abs(ordered[last]))
    beyond = np.abs(sums) > largest
    ratio = np.divide(np.abs(sums), largest, out=np.ones_like(sums), where=beyond)
    grown = np.where(beyond, np.sign(sums) * largest * (1.0 + np.log(ratio)), sums)
    found: Floats = np.clip(grown, -_LARGEST, _LARGEST).astype(np.float32)
    return found


def _counted(counts: Sequence[tuple[str, int]]) -> str:
    return _listed([f"{name} ({count:,})" for name, count in counts])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _option(weights: Mapping[str, float]) -> str:
    pairs = [f"{name}={weight:g}" for name, weight in weights.items()]
    return "--events " + ",".join(pairs[:_SHOWN]) + (",..." if len(pairs) > _SHOWN else "")
