"""What every recommender is and gives: REC and the baselines obey it, and so may yours.

`evichain.testing` checks whether a class does.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    """How many standard deviations an interval extends to either side to hold this share.

    >>> round(stds_for(0.8), 3)
    1.282
    """
    if not 0 < coverage < 1:
        raise DataError(f"a coverage of {coverage}", right="Give a share between 0 and 1.")
    return NormalDist().inv_cdf((1 + coverage) / 2)


ManyIds = Sequence[Id] | npt.NDArray[Any] | pl.Series


class Estimate:
    """An expected rating; its standard deviation and the ends of its scale are None if unknown."""

    estimate: float
    std: float | None
    scale: tuple[float, float] | None

    def interval(self, coverage: float = COVERAGE) -> tuple[float, float] | None:
        """The interval that holds the rating with this probability; None without a std.

        >>> low, high = Prediction(4.5, std=1.0, scale=(1.0, 5.0)).interval(0.5)
        >>> round(low, 3), high
        (3.826, 5.0)
        """
        if self.std is None:
            return None
        reach = stds_for(coverage) * self.std
        low, high = self.scale or (-math.inf, math.inf)
        return max(low, self.estimate - reach), min(high, self.estimate + reach)


@dataclass(frozen=True)
class Prediction(Estimate):
    """How a user would rate an item.

    Attributes:
        estimate: the expected rating.
        reason: why there is no chain of evidence, so that the estimate is a mean or a prior;
            None when there is one.
        std: the standard deviation of the rating; None when the model has none.
        scale: the lowest and the highest possible rating; None when there is no such bound.
        user, item, title: what the prediction is about, where the recommender says so.
    """

    estimate: float
    reason: str | None = None
    std: float | None = None
    scale: tuple[float, float] | None = field(default=None, repr=False)
    user: Id | None = field(default=None, repr=False)
    item: Id | None = field(default=None, repr=False)
    title: str | None = field(default=None, repr=False)

    @property
    def impossible(self) -> bool:
        """Whether the estimate is only a mean or a prior, for the reason given."""
        return self.reason is not None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; ids are text."""
        return {
            "user": _text(self.user),
            "item": _text(self.item),
            "title": self.title,
            "estimate": self.estimate,
            "std": self.std,
            "interval": _listed(self.interval()),
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions in the order in which they were asked for.

    Attributes:
        estimates: float32, one for each pair.
        reasons: why a pair's estimate is only a mean or a prior; None where it is not.
        stds: float32, the standard deviation of each rating; None when the model has none.
        scale: the lowest and the highest possible rating; None when there is no such bound.
        users, items: the pairs, where the recommender says so; a user None is a guest.
        title_of: gives the title of an item.
        ignored: unknown items among a guest's ratings; they had no effect.

    >>> found = Predictions(np.array([3.5, 3.0], np.float32), [None, "no such user"])
    >>> found[1]
    Prediction(estimate=3.0, reason='no such user', std=None)
    >>> [prediction.impossible for prediction in found]
    [False, True]
    """

    estimates: npt.NDArray[np.float32]
    reasons: list[str | None]
    stds: npt.NDArray[np.float32] | None = None
    scale: tuple[float, float] | None = None
    users: Sequence[Id | None] | None = None
    items: Sequence[Id] | None = None
    title_of: Callable[[Id], str] = field(default=str, repr=False)
    ignored: tuple[Id, ...] = ()

    def __len__(self) -> int:
        return len(self.estimates)

    def __getitem__(self, index: int) -> Prediction:
        item = None if self.items is None else self.items[index]
        return Prediction(
            estimate=float(self.estimates[index]),
            reason=self.reasons[index],
            std=None if self.stds is None else float(self.stds[index]),
            scale=self.scale,
            user=None if self.users is None else self.users[index],
            item=item,
            title=None if item is None else self.title_of(item),
        )

    def __iter__(self) -> Iterator[Prediction]:
        return (self[index] for index in range(len(self)))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; ids are text."""
        return {
            "predictions": [prediction.to_dict() for prediction in self],
            "ignored": [str(item) for item in self.ignored],
        }


@dataclass(frozen=True)
class Reason:
    """The rating of the asker whose removal would lower an estimate most.

    Attributes:
        contribution: by how much the estimate would fall.
    """

    item: Id
    title: str
    rating: float
    contribution: float

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; ids are text."""
        return {**vars(self), "item": str(self.item)}


@dataclass(frozen=True)
class Recommendation(Estimate):
    """An item that a user may like.

    Attributes:
        estimate: the expected rating.
        title: the id as text where no title is known.
        std: the standard deviation of the rating; None when the model has none.
        reason: the rating that supports it most, where it was asked for and there is one.
        scale: the lowest and the highest possible rating; None when there is no such bound.
    """

    item: Id
    estimate: float
    title: str
    std: float | None = None
    reason: Reason | None = None
    scale: tuple[float, float] | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; ids are text."""
        return {
            "item": str(self.item),
            "title": self.title,
            "estimate": self.estimate,
            "std": self.std,
            "interval": _listed(self.interval()),
            "reason": None if self.reason is None else self.reason.to_dict(),
        }


class Recommendations(list[Recommendation]):
    """A list of recommendations, best first.

    Attributes:
        user: whom it is for; None for a guest.
        ignored: unknown items among what was given; they had no effect.
    """

    def __init__(
        self,
        found: Iterable[Recommendation],
        *,
        user: Id | None = None,
        ignored: tuple[Id, ...] = (),
    ) -> None:
        super().__init__(found)
        self.user, self.ignored = user, ignored

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; ids are text."""
        return {
            "user": _text(self.user),
            "recommendations": [one.to_dict() for one in self],
            "ignored": [str(item) for item in self.ignored],
        }


@dataclass(frozen=True)
class Similar:
    """An item like another, 1 being most alike; `title` is the id where none is known."""

    item: Id
    similarity: float
    title: str

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; ids are text."""
        return {"item": str(self.item), "title": self.title, "similarity": self.similarity}


class SimilarItems(list[Similar]):
    """The items most like `item`, most alike first."""

    def __init__(self, found: Iterable[Similar], *, item: Id) -> None:
        super().__init__(found)
        self.item = item

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; ids are text."""
        return {"item": str(self.item), "similar": [one.to_dict() for one in self]}


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    """As JSON has it."""
    return None if interval is None else list(interval)


def _text(identifier: Id | None) -> str | None:
    return None if identifier is None else str(identifier)


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
    def predict(self, users: Id | ManyIds, items: Id | ManyIds) -> Predictions: ...

    def predict(self, users: Id | ManyIds, items: Id | ManyIds) -> Prediction | Predictions:
        """How `users` would rate `items`: equally many of both, or one of either with many.

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
