"""Ratings as levels, for models that give each level a probability or a threshold."""

from dataclasses import dataclass

import numpy as np

from evichain.kernels import Floats, Longs
from evichain.ratings.graph import Graph

MOST_LEVELS = 20


@dataclass(frozen=True)
class Levels:
    """The levels of a scale, ascending, each with the rating it stands for.

    A scale with more than `MOST_LEVELS` values is binned into that many levels of about equal
    counts; a bin stands for the mean of the ratings in it.

    Attributes:
        values: the rating that each level stands for.
        starts: the lowest rating of each level.
    """

    values: Floats
    starts: Floats

    @classmethod
    def of(cls, graph: Graph, ratings: Floats) -> "Levels":
        """The levels of a graph's scale; `ratings` decide the values of merged levels."""
        scale = graph.scale
        if scale.levelled and len(scale.levels) <= MOST_LEVELS:
            return cls(scale.levels, scale.levels)
        cuts = np.quantile(ratings, np.arange(MOST_LEVELS) / MOST_LEVELS, method="lower")
        starts = np.unique(cuts).astype(np.float32)
        starts[0] = scale.low
        codes = np.searchsorted(starts, ratings, side="right") - 1
        sums = np.bincount(codes, ratings, minlength=len(starts))
        counts = np.bincount(codes, minlength=len(starts))
        return cls((sums / counts).astype(np.float32), starts)

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, ratings: Floats) -> Longs:
        """The index of each rating's level."""
        return np.searchsorted(self.starts, ratings, side="right") - 1
