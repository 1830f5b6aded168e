"""Held-out users: train on some users, list for others who bring a part of their interactions.

The protocol of Mult-VAE (Liang et al., 2018), by which EASE, iALS and others are compared.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evichain.errors import DataError, SplitError
from evichain.kernels import Flags, Longs
from evichain.ratings.columns import ITEM, RATING, USER
from evichain.ratings.inputs import as_ratings
from evichain.ratings.table import Ratings

FEWEST = 5
"""The smallest number of interactions of a user who takes part."""

WANTED = 0.2
"""The share of a held-out user's interactions that lists have to find, rounded down."""


@dataclass(frozen=True, eq=False)
class HeldOutPart:
    """Users who are not in the training part.

    Attributes:
        given: what is known of them when their lists are made.
        wanted: what the lists have to find.
    """

    given: Ratings
    wanted: Ratings


@dataclass(frozen=True, eq=False)
class HeldOutUsers:
    """Interactions to train on, and the users to validate and to test on.

    Attributes:
        threshold: an interaction is a rating at or above it; None takes all rows.
    """

    train: Ratings
    validation: HeldOutPart
    test: HeldOutPart
    threshold: float | None
    seed: int


def held_out_users(
    ratings: Any, threshold: float | None = None, *, share: float = 0.1, seed: int = 0
) -> HeldOutUsers:
    """Hold out whole users: a share to validate on, as many to test on.

    Users with fewer than 5 interactions do not take part. Items that no training user interacted
    with are left out. A fifth of the interactions of a held-out user is wanted, the rest is given.

    Args:
        ratings: a `Ratings`, a file, or a table that `Ratings.from_frame` takes.
        threshold: the lowest rating that is an interaction; None takes all rows.
        share: of the users, for validation and for the test each.
        seed: of the draws.
    """
    table = as_ratings(ratings)
    if not 0 < share < 0.5:
        raise SplitError(f"share is {share:g}", right="Give a share above 0 and below 0.5.")
    kept = table if threshold is None else table.take(table.frame[RATING] >= threshold)
    kept = kept.take(kept.frame.select(pl.len().over(USER) >= FEWEST).to_series())
    draws = np.random.default_rng(seed)
    users, members = _numbers(kept.frame[USER])
    count = int(members * share)
    if not count:
        raise DataError(
            f"{members:,} users with {FEWEST} or more interactions are too few to hold out "
            f"{share:.0%} of them",
            where=table.name,
            right="Give more ratings, a larger share, or a lower threshold.",
        )
    order = draws.permutation(members)
    train = np.ones(len(users), np.bool_)
    parts = []
    for held in (order[count : 2 * count], order[:count]):
        rows = np.isin(users, held)
        train &= ~rows
        parts.append(rows)
    items, catalogue = _numbers(kept.frame[ITEM])
    trained = np.zeros(catalogue, np.bool_)
    trained[items[train]] = True
    validation, test = (
        _parted(kept, np.flatnonzero(rows & trained[items]), users, items, draws) for rows in parts
    )
    return HeldOutUsers(kept.take(train), validation, test, threshold, seed)


def _numbers(ids: pl.Series) -> tuple[Longs, int]:
    """Each row's id as its number in ascending order, and how many ids there are."""
    known = ids.unique().sort()
    numbers = pl.int_range(len(known), dtype=pl.Int64, eager=True)
    return ids.replace_strict(known, numbers, return_dtype=pl.Int64).to_numpy(), len(known)


def _parted(
    ratings: Ratings, rows: Longs, users: Longs, items: Longs, draws: np.random.Generator
) -> HeldOutPart:
    """Divide the rows of held-out users into given and wanted ones."""
    rows = rows[np.lexsort((items[rows], users[rows]))]
    _, user, counts = np.unique(users[rows], return_inverse=True, return_counts=True)
    drawn = np.lexsort((draws.random(len(rows)), user))
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    wanted: Flags = np.zeros(len(rows), np.bool_)
    wanted[drawn] = rank < np.floor(WANTED * counts[user])
    return HeldOutPart(ratings.take(rows[~wanted]), ratings.take(rows[wanted]))
