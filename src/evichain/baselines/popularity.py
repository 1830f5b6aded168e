"""Popularity: everyone is recommended the items with most ratings."""

import numpy as np

from evichain.baselines._base import Baseline, BaselineSettings, Learned
from evichain.evaluation.scoring import Histories
from evichain.kernels import Floats, Ints
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side


class Popularity(Baseline[BaselineSettings]):
    """Items ranked by their number of ratings; every estimate is the mean of all ratings.

    Nothing is random, so the seed changes nothing.
    """

    Settings = BaselineSettings
    models_interactions = False

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        mean, counts = np.float32(graph.mean), graph.rows[Side.ITEM].degrees.astype(np.float32)

        def scores(users: Ints, items: Ints) -> Floats:
            return np.full(len(items), mean, np.float32)

        def popularity(users: Ints, items: Ints) -> Floats:
            return counts[items]

        return Learned(scores, 1 + len(counts), order=popularity)

    def score_histories(self, histories: Histories) -> Floats:
        """The same scores for everyone: [histories, items]."""
        counts = self.graph.rows[Side.ITEM].degrees.astype(np.float32)
        return np.tile(counts, (len(histories), 1))
