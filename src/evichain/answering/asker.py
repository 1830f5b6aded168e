"""Who asks: a user of the data, or a guest who only brings ratings; some may be left out."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evichain.answering.arguments import is_id
from evichain.answering.backend import Backend, Row
from evichain.answering.row_evidence import user_output
from evichain.errors import DataError, UnknownEntityError
from evichain.kernels import Longs
from evichain.model.inference import HeadOutput
from evichain.model.layers import Layer, stored_layer
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.side import Side

GUEST = "you"
"""What a guest is called in explanations."""

Guest = Sequence[tuple[Id, float]]
"""The (item, rating) pairs of someone who is not in the data."""


@dataclass(frozen=True)
class Asker:
    """Someone with ratings.

    Attributes:
        name: the user's id, or GUEST.
        index: the user's index; UNKNOWN for a guest and for an unknown user.
        row: the ratings that count.
        left_out: items whose ratings are left out; they still count as seen.
        stored: the stored embedding, where a prototype user answers with it.
        output: the head's output.
        ignored: unknown items among what was given; they have no effect.
        is_guest: whether they only bring ratings; a user of the data may be called GUEST too.
    """

    name: Id
    index: int
    row: Row
    left_out: Longs
    stored: Layer | None
    output: HeadOutput
    ignored: tuple[Id, ...] = ()
    is_guest: bool = False


def find_user(
    backend: Backend, user: Id, without: Iterable[Id] = (), *, required: bool = True
) -> Asker:
    """A user of the data.

    Args:
        required: refuse an unknown user.
    """
    index = int(backend.indices(Side.USER, [user])[0])
    if index == UNKNOWN and required:
        raise UnknownEntityError(
            f"unknown user {user!r}",
            right="Name a user who has ratings, or give the ratings of a guest instead.",
        )
    row = backend.row(Side.USER, index)
    left_out, ignored = _known_items(backend, without)
    name, stored = user, None
    if index != UNKNOWN:
        name = backend.identifier(Side.USER, index)
        if backend.policy.stored(0):
            found = stored_layer(backend.chain, Side.USER, backend.slots(Side.USER, _one(index)))
            stored = found if found.has_embedding[0] else None
    kept = ~np.isin(row[0], left_out)
    if stored is not None or kept.all():
        output = backend.outputs(Side.USER, _one(index))
    else:
        row = row[0][kept], row[1][kept]
        output = user_output(backend, row)
    return Asker(name, index, row, left_out, stored, output, ignored)


def make_guest(backend: Backend, rated: Any, without: Iterable[Id] = ()) -> Asker:
    """Someone with these (item, rating) pairs, of whom nothing is kept.

    Of an item given twice, the last rating counts. Unknown items are ignored, and named in
    the answer.
    """
    scale, ratings = backend.scale, {}
    for pair in _pairs(rated):
        item, rating = _checked(pair)
        if not scale.holds(rating):
            raise DataError(
                f"the rating {rating:g} of item {item!r} is off the scale",
                right=f"Ratings go from {scale.low:g} to {scale.high:g}.",
            )
        ratings[item] = rating
    found = backend.indices(Side.ITEM, list(ratings))
    values = np.array(list(ratings.values()), np.float32)
    known = found != UNKNOWN
    is_known = zip(ratings, known.tolist(), strict=True)
    unknown = tuple(item for item, yes in is_known if not yes)
    left_out, ignored = _known_items(backend, without)
    kept = known & ~np.isin(found, left_out)
    row = backend.guest_row(found[kept].astype(np.int32), values[kept])
    output, ignored = user_output(backend, row), unknown + ignored
    return Asker(GUEST, UNKNOWN, row, left_out, None, output, ignored, is_guest=True)


def _pairs(rated: Any) -> Iterable[Any]:
    if isinstance(rated, Mapping):
        return rated.items()
    if isinstance(rated, Iterable) and not isinstance(rated, str | bytes):
        return rated
    raise DataError(
        f"{rated!r} is neither a user's id nor a list of (item, rating) pairs",
        right="Give an id such as 196, or pairs such as [(50, 4.0)].",
    )


def _checked(pair: Any) -> tuple[Id, float]:
    try:
        item, rating = pair
        value = float(rating)
    except (TypeError, ValueError):
        value = math.nan
        item = None
    if isinstance(item, float) and item.is_integer():  # from an array of floats
        item = int(item)
    if not is_id(item) or not math.isfinite(value):
        raise DataError(
            f"{pair!r} is not an (item, rating) pair", right="Give pairs such as (50, 4.0)."
        )
    return item, value


def _known_items(backend: Backend, items: Iterable[Id]) -> tuple[Longs, tuple[Id, ...]]:
    given = list(items)
    found = backend.indices(Side.ITEM, given) if given else np.empty(0, np.int64)
    unknown = tuple(item for item, i in zip(given, found.tolist(), strict=True) if i == UNKNOWN)
    return found[found != UNKNOWN], unknown


def _one(index: int) -> Longs:
    return np.array([index], np.int64)
