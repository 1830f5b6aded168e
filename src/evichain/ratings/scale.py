"""The rating scale: a few levels, each stored in a byte, or a continuous range."""

from dataclasses import dataclass

import numpy as np

from evichain.kernels import Codes, Floats

MAX_LEVELS = 256


@dataclass(frozen=True, eq=False)
class Scale:
    """The distinct ratings, ascending, or none when there are too many to be levels.

    >>> scale = Scale.of(np.array([4, 2, 4, 5], np.float32))
    >>> scale.encode(np.array([5, 2], np.float32)).tolist()
    [2, 0]
    >>> scale.decode(np.array([2, 0], np.uint8)).tolist()
    [5.0, 2.0]
    """

    levels: Floats
    low: float
    high: float

    @classmethod
    def of(cls, ratings: Floats) -> "Scale":
        """The scale that holds these ratings."""
        distinct = np.unique(ratings).astype(np.float32)
        low, high = (float(distinct[0]), float(distinct[-1])) if distinct.size else (0.0, 0.0)
        if distinct.size > MAX_LEVELS:
            distinct = np.empty(0, np.float32)
        return cls(distinct, low, high)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scale) and np.array_equal(self.levels, other.levels)

    def __hash__(self) -> int:
        return hash(self.levels.tobytes())

    @property
    def levelled(self) -> bool:
        """Whether ratings are stored as 8-bit levels."""
        return self.levels.size > 0

    def encode(self, ratings: Floats) -> Codes:
        """Ratings as stored: the level's number, or the value itself."""
        if not self.levelled:
            return ratings.astype(np.float32)
        return np.searchsorted(self.levels, ratings).astype(np.uint8)

    def decode(self, codes: Codes) -> Floats:
        """Stored ratings as numbers."""
        return self.levels[codes.astype(np.intp)] if self.levelled else codes.astype(np.float32)

    def within(self, values: Floats) -> Floats:
        """The values, cut to the scale.

        >>> Scale.of(np.array([1, 5], np.float32)).within(np.array([0, 3, 9], np.float32)).tolist()
        [1.0, 3.0, 5.0]
        """
        return np.clip(values, self.low, self.high)

    def widened(self, ratings: Floats) -> "Scale":
        """The scale that holds these ratings too."""
        if self.levelled:
            return Scale.of(np.concatenate([self.levels, np.unique(ratings)]))
        low, high = float(ratings.min(initial=self.low)), float(ratings.max(initial=self.high))
        return Scale(self.levels, low, high)
