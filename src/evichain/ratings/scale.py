"""The scale of ratings or weights: a few levels, each stored in a byte, or a continuous range."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evichain.kernels import Codes, Floats, Longs

Doubles = npt.NDArray[np.float64]

MAX_LEVELS = 256
_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class Scale:
    """The distinct ratings, ascending, or none when there are too many to be levels.

    Attributes:
        interactions: whether the values are weights of interactions.

    >>> scale = Scale.of(np.array([4, 2, 4, 5], np.float32))
    >>> scale.encode(np.array([5, 2], np.float32)).tolist()
    [2, 0]
    >>> scale.decode(np.array([2, 0], np.uint8)).tolist()
    [5.0, 2.0]
    """

    levels: Floats
    low: float
    high: float
    interactions: bool = False

    @classmethod
    def of(cls, ratings: Floats, *, interactions: bool = False) -> "Scale":
        """The scale that holds these ratings."""
        distinct = np.unique(ratings).astype(np.float32)
        low, high = (float(distinct[0]), float(distinct[-1])) if distinct.size else (0.0, 0.0)
        if distinct.size > MAX_LEVELS:
            distinct = np.empty(0, np.float32)
        return cls(distinct, low, high, interactions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scale) or self.interactions != other.interactions:
            return False
        return np.array_equal(self.levels, other.levels)

    def __hash__(self) -> int:
        return hash(self.levels.tobytes())

    @property
    def levelled(self) -> bool:
        """Whether ratings are stored as 8-bit levels."""
        return self.levels.size > 0

    @property
    def uniform(self) -> bool:
        """Whether these are interactions of one weight, whose codes take no memory."""
        return self.interactions and len(self.levels) == 1

    def encode(self, ratings: Floats) -> Codes:
        """Ratings as stored: the level's number, or the value itself."""
        if not self.levelled:
            return ratings.astype(np.float32)
        return np.searchsorted(self.levels, ratings).astype(np.uint8)

    def decode(self, codes: Codes) -> Floats:
        """Stored ratings as numbers."""
        return self.levels[codes.astype(np.intp)] if self.levelled else codes.astype(np.float32)

    def counts(self, codes: Codes) -> Longs:
        """How many of the stored ratings are of each level."""
        found = np.zeros(len(self.levels), np.int64)
        for part in _pieces(codes):
            found += np.bincount(part, minlength=len(found))
        return found

    def mean(self, codes: Codes) -> float:
        """The mean of stored ratings: the same for the same codes in the same order.

        In 64 bits: a 32-bit sum of millions of ratings would drift.
        """
        return self._mean_of(codes, lambda ratings: ratings)

    def std(self, codes: Codes, mean: float) -> float:
        """The standard deviation of stored ratings about `mean`."""
        return math.sqrt(self._mean_of(codes, lambda ratings: np.square(ratings - mean)))

    def _mean_of(self, codes: Codes, of: Callable[[Doubles], Doubles]) -> float:
        """The mean of a function of the ratings, piece by piece to spare memory."""
        if not len(codes):
            return 0.0
        if self.levelled:
            return math.fsum(of(self.levels.astype(np.float64)) * self.counts(codes)) / len(codes)
        sums = (float(of(part.astype(np.float64)).sum()) for part in _pieces(codes))
        return math.fsum(sums) / len(codes)

    def holds(self, rating: float) -> bool:
        """Whether a rating is on the scale, in the 32 bits that ratings have.

        Weights of interactions have no bounds.

        >>> scale = Scale.of(np.array([0.1, 3.7], np.float32))
        >>> 0.1 < scale.low, scale.holds(0.1), scale.holds(3.7), scale.holds(3.8)
        (True, True, True, False)
        """
        with np.errstate(over="ignore"):
            if self.interactions:
                return bool(np.isfinite(np.float32(rating)))
            return bool(np.float32(self.low) <= np.float32(rating) <= np.float32(self.high))

    def within(self, values: Floats) -> Floats:
        """The values, cut to the scale.

        >>> Scale.of(np.array([1, 5], np.float32)).within(np.array([0, 3, 9], np.float32)).tolist()
        [1.0, 3.0, 5.0]
        """
        return np.clip(values, self.low, self.high)

    def widened(self, ratings: Floats) -> "Scale":
        """The scale that holds these ratings too."""
        if self.levelled:
            both = np.concatenate([self.levels, np.unique(ratings)])
            return Scale.of(both, interactions=self.interactions)
        low, high = float(ratings.min(initial=self.low)), float(ratings.max(initial=self.high))
        return replace(self, low=low, high=high)


def check_scale(scale: Scale) -> None:
    """Refuse a loaded scale that cannot decode ratings.

    Raises:
        ValueError: what is wrong with it.
    """
    levels = scale.levels
    if not isinstance(levels, np.ndarray) or levels.dtype != np.float32 or levels.ndim != 1:
        raise ValueError("levels that are not a one-dimensional array of 32-bit floats")
    if len(levels) > MAX_LEVELS or not np.isfinite(levels).all() or (np.diff(levels) <= 0).any():
        raise ValueError("levels that do not ascend, or too many of them")
    if not -math.inf < scale.low <= scale.high < math.inf:
        raise ValueError(f"a scale from {scale.low} to {scale.high}")


def _pieces(codes: Codes) -> Iterator[Codes]:
    """Codes in pieces of a fixed size, so that what is summed does not depend on memory."""
    for start in range(0, len(codes), _PIECE):
        yield codes[start : start + _PIECE]
