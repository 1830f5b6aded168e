"""What the checks share: how they fail, and their models and pairs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import SkipTest

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.protocol import Predictions, Recommender
from evichain.ratings.ids import Id
from evichain.ratings.table import Ratings
from evichain.testing.planted import planted_blocks

Make = Callable[[], Recommender]
"""Makes an unfitted recommender, always the same one; quick to train is quick to check."""

Check = Callable[[Make], None]
"""Fails with a `CheckError`, or raises `unittest.SkipTest` where it does not apply."""

TOLERANCE = 1e-4


class CheckError(AssertionError):
    """A recommender did not do what was expected of it."""


def expect(condition: bool | np.bool_, expected: str) -> None:
    """Fail, saying what was expected, unless the condition holds."""
    if not condition:
        raise CheckError(f"expected {expected}")


@contextmanager
def expect_raises(
    errors: type[Exception] | tuple[type[Exception], ...], when: str
) -> Iterator[None]:
    """Fail unless the block raises one of the errors."""
    kinds = errors if isinstance(errors, tuple) else (errors,)
    wanted = " or ".join(kind.__name__ for kind in kinds)
    try:
        yield
    except kinds:
        return
    except Exception as other:
        raise CheckError(f"expected {wanted} {when}, got {other!r}") from other
    raise CheckError(f"expected {wanted} {when}, got an answer")


@contextmanager
def expect_no_error(doing: str) -> Iterator[None]:
    """Fail if the block raises anything but the failure of an expectation."""
    try:
        yield
    except (CheckError, SkipTest):
        raise
    except Exception as error:
        raise CheckError(f"expected no error {doing}, got {error!r}") from error


def needs(make: Make, *abilities: str) -> None:
    """Skip the check where the recommender lacks one of the abilities."""
    model = make()
    for ability in abilities:
        if not hasattr(model, ability):
            raise SkipTest(f"{type(model).__name__} has no {ability}")


def needs_interactions(make: Make) -> None:
    """Skip the check where the recommender says that it ranks items alike for all users."""
    model = make()
    if not getattr(model, "models_interactions", True):
        raise SkipTest(f"{type(model).__name__} does not model who likes what")


def needs_ratings(make: Make) -> None:
    """Skip the check where the recommender says that its estimates are scores, and no ratings."""
    if not estimates_ratings(make()):
        raise SkipTest(f"{type(make()).__name__} orders items and does not estimate ratings")


def estimates_ratings(model: Recommender) -> bool:
    """Whether the model's estimates are ratings."""
    return bool(getattr(model, "estimates_ratings", True))


def fitted(make: Make, ratings: Ratings | None = None) -> Recommender:
    """A recommender fitted to ratings, or to the planted blocks."""
    return make().fit(planted_blocks() if ratings is None else ratings)


def renamed(ratings: Ratings, users: str = "", items: str = "") -> Ratings:
    """The ratings with a prefix before the ids of a side, which makes them strings."""
    prefixes = {"user_id": users, "item_id": items}
    frame = ratings.frame.with_columns(
        pl.concat_str(pl.lit(prefix), pl.col(column).cast(pl.String)).alias(column)
        for column, prefix in prefixes.items()
        if prefix
    )
    return replace(ratings, frame=frame)


def some_pairs() -> tuple[list[int], list[int]]:
    """Pairs of planted users and items, rated and unrated ones of every block among them."""
    pairs = [(user, item) for user in range(0, 60, 7) for item in range(0, 40, 3)]
    return [user for user, _ in pairs], [item for _, item in pairs]


def estimates_of(
    model: Recommender, users: Id | Sequence[Id], items: Id | Sequence[Id]
) -> npt.NDArray[np.float32]:
    """The model's estimates of pairs."""
    found = model.predict(users, items)
    expect(isinstance(found, Predictions), f"Predictions of lists, not {type(found).__name__}")
    estimates: npt.NDArray[np.float32] = found.estimates
    return estimates


def alike(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> bool:
    """Whether estimates are equal up to rounding."""
    return left.shape == right.shape and bool(np.allclose(left, right, rtol=0, atol=TOLERANCE))
