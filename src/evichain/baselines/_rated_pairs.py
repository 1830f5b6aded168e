"""Ratings as three parallel arrays, and the holdout of them for early stopping."""

from dataclasses import dataclass

import numpy as np

from evichain.kernels import Floats, Ints, Longs
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.training.training_data import FEWEST_TO_CUT


@dataclass(frozen=True)
class RatedPairs:
    """Users and items by index, with their ratings."""

    users: Ints
    items: Ints
    ratings: Floats

    def __len__(self) -> int:
        return len(self.ratings)

    def of(self, side: Side) -> Ints:
        """The entities of a side."""
        return self.users if side is Side.USER else self.items

    def at(self, indices: Longs) -> "RatedPairs":
        """The ratings at these indices."""
        return RatedPairs(self.users[indices], self.items[indices], self.ratings[indices])


def all_pairs(graph: Graph) -> RatedPairs:
    """All ratings of a graph, in an order that depends on the ids alone."""
    return RatedPairs(*graph.pairs(np.arange(len(graph))))


def cut(
    pairs: RatedPairs, share: float, draws: np.random.Generator
) -> tuple[RatedPairs, RatedPairs | None]:
    """The ratings to train on, and a random share held out for early stopping.

    >>> few = RatedPairs(*np.zeros((2, 200), np.int32), np.zeros(200, np.float32))
    >>> [len(part) for part in cut(few, 0.1, np.random.default_rng(0))]
    [180, 20]
    """
    held = round(len(pairs) * share)
    if not held or len(pairs) < FEWEST_TO_CUT:
        return pairs, None
    order = draws.permutation(len(pairs))
    return pairs.at(np.sort(order[held:])), pairs.at(np.sort(order[:held]))
