"""What a model is trained on: a pool of evidence, and validation ratings held out of it.

A table is split, and the graph is built from the training part. A graph, which may be larger than
memory, stays whole: a hashed share of its pairs is held out (`evidence.holdout`).
"""

from dataclasses import dataclass, replace

from evichain.errors import SettingsError
from evichain.evidence.holdout import NO_HOLDOUT, held_out_positions, hold_out
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.splits import random_split
from evichain.ratings.table import Ratings

RatedPairs = tuple[Ints, Ints, Floats]

_VALIDATION_SEED = 7919
FEWEST_TO_CUT = 100
"""With fewer ratings than this, none is held out: the validation error would say nothing."""


@dataclass(frozen=True)
class TrainingData:
    """The pool to train on, and validation ratings that are not in its evidence."""

    pool: Pool
    validation: RatedPairs | None = None
    _held: Ratings | None = None

    def whole(self) -> Pool:
        """The pool with the validation ratings added back, for use after training."""
        if self._held is None:
            return replace(self.pool, holdout=NO_HOLDOUT)
        return Pool.of(self.pool.graph.extended(self._held), self.pool.ids)


def prepare(
    source: Ratings | Graph, prototypes: tuple[int, int], validation: float, seed: int
) -> TrainingData:
    """Prepare ratings for training.

    Args:
        prototypes: how many users and items, those with most ratings, are prototypes.
        validation: the part of the ratings to hold out.
    """
    watched = round(len(source) * validation)
    cut = watched > 0 and len(source) >= FEWEST_TO_CUT
    if cut and watched == len(source):
        right = "Hold out a smaller part."
        raise SettingsError("leaves no ratings to train on", where="validation", right=right)
    seed = (seed + _VALIDATION_SEED) % 2**63
    if isinstance(source, Graph):
        pool = Pool.most_rated(source, prototypes)
        return _hidden(pool, validation, seed) if cut else TrainingData(pool)
    if not cut:
        return TrainingData(Pool.most_rated(Graph.build(source), prototypes))
    parted = random_split(source, 1 - validation, seed)
    pool, held = Pool.most_rated(Graph.build(parted.train), prototypes), parted.test
    users, items = (pool.graph.ids[side].index(held.frame[side.column]) for side in Side)
    return TrainingData(pool, (users, items, held.frame["rating"].to_numpy()), held)


def _hidden(pool: Pool, validation: float, seed: int) -> TrainingData:
    holdout = hold_out(validation, seed)
    positions = held_out_positions(pool.graph, holdout)
    # Of few ratings a draw may take none or all; then there is no validation.
    if not 0 < len(positions) < len(pool.graph):
        return TrainingData(pool)
    return TrainingData(replace(pool, holdout=holdout), pool.graph.pairs(positions))
