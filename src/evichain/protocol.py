"""What every recommender is and gives: REC and the baselines obey it, and so may yours.

`evichain.testing` checks whether a class does.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Protocol, Self, overload, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.errors import DataError
from evichain.ratings.ids import Id
from evichain.ratings.table import Ratings

COVERAGE = 0.8
"""The share of ratings that an interval around an estimate holds, unless another is asked for."""


def stds_for(coverage: float) -> float:
    """How many deviations an interval reaches to either side to hold this share of ratings.

    >>> round(deviations_for(0.8), 3)
    1.282
    """
    if not 0 < coverage < 1:
        raise DataError(f"a coverage of {coverage}", right="Give a share between 0 and 1.")
    return NormalDist().inv_cdf((1 + coverage) / 2)


ManyIds = Sequence[Id] | npt.NDArray[Any] | pl.Series


@dataclass(frozen=True)
class Prediction:
    """How a user would rate an item.

    Attributes:
        estimate: the rating expected.
        reason: why there is no chain of evidence, so that the estimate is a mean or a prior;
            None when there is one.
        deviation: how far the rating is expected to be off; None when that is not known.
        scale: the lowest and the highest rating there can be; None when there is no such bound.
    """

    estimate: float
    reason: str | None = None
    std: float | None = None
    scale: tuple[float, float] | None = field(default=None, repr=False)

    @property
    def impossible(self) -> bool:
        """Whether the estimate is only what is usual, for the reason given."""
        return self.reason is not None

    def interval(self, coverage: float = COVERAGE) -> tuple[float, float] | None:
        """Between what the rating lies with this probability; None when that is not known.

        >>> low, high = Prediction(4.5, deviation=1.0, scale=(1.0, 5.0)).interval(0.5)
        >>> round(low, 3), high
        (3.826, 5.0)
        """
        if self.std is None:
            return None
        reach = stds_for(coverage) * self.std
        low, high = self.scale or (-math.inf, math.inf)
        return max(low, self.estimate - reach), min(high, self.estimate + reach)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions in the order in which they were asked for.

    Attributes:
        estimates: float32, one a pair.
        reasons: why a pair's estimate is only what is usual; None where it is not.
        deviations: float32, how far each rating is expected to be off; None when not known.
        scale: the lowest and the highest rating there can be; None when there is no such bound.

    >>> found = Predictions(np.array([3.5, 3.0], np.float32), [None, "no such user"])
    >>> found[1]
    Prediction(estimate=3.0, reason='no such user', deviation=None)
    >>> [prediction.impossible for prediction in found]
    [False, True]
    """

    estimates: npt.NDArray[np.float32]
    reasons: list[str | None]
    stds: npt.NDArray[np.float32] | None = None
    scale: tuple[float, float] | None = None

    def __len__(self) -> int:
        return len(self.estimates)

    def __getitem__(self, index: int) -> Prediction:
        std = None if self.stds is None else float(self.stds[index])
        return Prediction(float(self.estimates[index]), self.reasons[index], std, self.scale)

    def __iter__(self) -> Iterator[Prediction]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True)
class Recommendation:
    """An item a user may like, with the rating expected; `title` is the id where none is known.

    `deviation` is how far the rating is expected to be off, where that is known.
    """

    item: Id
    estimate: float
    title: str
    std: float | None = None


@dataclass(frozen=True)
class Similar:
    """An item like another, 1 being most alike; `title` is the id where none is known."""

    item: Id
    similarity: float
    title: str


@runtime_checkable
class Recommender(Protocol):
    """The least a recommender can do.

    It takes its settings as keyword arguments of its constructor, a seed among them if it draws
    anything, and keeps them as given (scikit-learn's convention), so that `get_params`,
    `set_params` and `sklearn.clone` work.
    """

    def fit(self, ratings: Ratings, *, progress: bool = False) -> Self:
        """Learn from ratings, forgetting whatever was learnt before."""
        ...

    @overload
    def predict(self, users: Id, items: Id) -> Prediction: ...  # type: ignore[overload-overlap]

    @overload
    def predict(self, users: ManyIds, items: ManyIds) -> Predictions: ...

    def predict(self, users: Id | ManyIds, items: Id | ManyIds) -> Prediction | Predictions:
        """How `users` would rate `items`: a pair of ids, or as many of the one as of the other.

        A pair of which nothing is known gets a mean and a reason, never an exception.
        """
        ...

    def recommend(
        self, user: Id, n: int = 10, *, exclude_seen: bool = True
    ) -> list[Recommendation]:
        """The `n` items the user would rate highest, best first.

        Raises:
            UnknownEntityError: the user is not known.
        """
        ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, by name."""
        ...

    def set_params(self, **params: Any) -> Self:
        """Change settings; they hold from the next `fit` on."""
        ...
