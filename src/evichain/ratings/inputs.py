"""Ratings in any form that users have them: tables, arrays, tuples, matrices, names and paths."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from evichain.errors import DataError
from evichain.ratings.catalogue import load_ratings
from evichain.ratings.columns import COLUMNS, RATING
from evichain.ratings.scale import Scale
from evichain.ratings.table import Ratings

if TYPE_CHECKING:
    from evichain.ratings.graph import Graph

_SLACK = 0.1
# A toy example may well have one level.
_FEWEST_TO_JUDGE = 20
_RIGHT = (
    "Give a DataFrame, a dict of columns, (user, item, rating) or (user, item) tuples, an array "
    "with these columns, a scipy sparse matrix, or the name of a file or data set."
)


def as_ratings(ratings: Any) -> Ratings:
    """Ratings in any form as a `Ratings`.

    Args:
        ratings: a `Ratings`; the name of a file or data set; a polars, pandas or Arrow table; a
            dict of columns; a list of (user, item, rating) or (user, item, rating, timestamp), or
            of (user, item), which are interactions; a NumPy array with these columns; or a scipy
            sparse matrix, whose rows are users, whose columns are items, and whose stored entries
            are ratings, zeros too.

    >>> as_ratings([("ann", 7, 4.5), ("bob", 7, 3)]).frame.rows()
    [('ann', 7, 4.5), ('bob', 7, 3.0)]
    >>> as_ratings(np.array([[1, 7, 4], [2, 7, 3]])).frame.rows()
    [(1, 7, 4.0), (2, 7, 3.0)]
    """
    if isinstance(ratings, Ratings):
        return ratings
    if isinstance(ratings, str | Path):
        return load_ratings(ratings)
    if hasattr(ratings, "tocoo"):
        entries = ratings.tocoo()
        return Ratings.from_arrays(entries.row, entries.col, entries.data, name="sparse matrix")
    if isinstance(ratings, np.ndarray) and ratings.dtype.names is None:
        return _from_columns(list(ratings.T), ratings.shape[1:], "array")
    if isinstance(ratings, list | tuple):
        try:
            columns = list(zip(*ratings, strict=True))
        except (TypeError, ValueError):
            raise DataError(
                "not all elements are tuples of one length", where="list", right=_RIGHT
            ) from None
        return _from_columns(columns, (len(columns),), "list")
    if isinstance(ratings, dict | pl.LazyFrame) or hasattr(ratings, "columns"):
        return Ratings.from_frame(ratings)
    if isinstance(ratings, np.ndarray):
        return Ratings.from_frame({name: ratings[name] for name in ratings.dtype.names})
    raise DataError(f"{type(ratings).__name__} is not a form of ratings", right=_RIGHT)


def _from_columns(columns: list[Any], shape: tuple[int, ...], name: str) -> Ratings:
    if len(shape) != 1 or shape[0] not in (2, 3, 4):
        count = " x ".join(map(str, shape)) or "1"
        raise DataError(f"has {count} columns instead of 2, 3 or 4", where=name, right=_RIGHT)
    return Ratings.from_frame(dict(zip(COLUMNS, columns, strict=False)), name=name)


def as_source(ratings: Any) -> "Ratings | Graph":
    """As `as_ratings`, but a `Graph` stays one, and a saved graph is mapped instead of read."""
    # Here, because the kernels behind graphs take a second to import.
    from evichain.ratings.graph import Graph

    if isinstance(ratings, str | Path):
        path = Path(ratings).expanduser()
        if Graph.is_at(path):
            return Graph.load(path)
    return ratings if isinstance(ratings, Graph) else as_ratings(ratings)


def as_training(ratings: Any) -> "Ratings | Graph":
    """As `as_source`, for training: ratings that are all the same are refused."""
    source = as_source(ratings)
    if source.interactions or len(source) < _FEWEST_TO_JUDGE:
        return source
    if isinstance(source, Ratings):
        values, where = source.frame[RATING], source.name
        one = values[0] if values.min() == values.max() else None
    else:
        scale, where = source.scale, ""
        one = scale.low if scale.low == scale.high else None
    if one is not None:
        raise DataError(
            f"all {len(source):,} ratings are {one:g}: these look like interactions",
            where=where,
            right="Drop the rating column, or name it as the weight: --columns weight=rating; in "
            "Python, columns={'weight': 'rating'} or Ratings.from_arrays(users, items).",
        )
    return source


def as_later(ratings: Any, scale: Scale) -> Ratings:
    """Ratings that come after training, on the scale that a model was trained with.

    The ends of a continuous scale are only the extremes of the training ratings, so values a
    little beyond them are clipped. Any other value off the scale is an error. Interactions may
    have any weight.
    """
    table = as_ratings(ratings)
    if table.interactions and not scale.interactions:
        raise DataError(
            "there is no column for the rating, and the model was trained on ratings",
            where=table.name,
            right="Give user, item and rating. Or name the rating: columns={'rating': NAME}.",
        )
    if scale.interactions and not table.interactions:
        raise DataError(
            "these are ratings, and the model was trained on interactions",
            where=table.name,
            right="Give user and item, and weight if known. Or name the rating as the weight: "
            "columns={'weight': 'rating'}.",
        )
    if table.interactions:
        return table
    values = table.frame[RATING]
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
