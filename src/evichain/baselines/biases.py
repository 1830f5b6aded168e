"""Shrunken biases: the mean, how high an item is rated, and how high a user rates."""

import numpy as np
from pydantic import Field

from evichain.baselines._base import Baseline, BaselineSettings, Learned
from evichain.kernels import Floats, Ints
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side


class BiasesSettings(BaselineSettings):
    """The settings of `Biases`; nothing is random, so the seed changes nothing."""

    user_shrinkage: float = Field(default=5.0, gt=0)
    """The weight of a user's prior bias of 0, as a number of ratings."""
    item_shrinkage: float = Field(default=5.0, gt=0)
    """The weight of an item's prior bias of 0, as a number of ratings."""
    rounds: int = Field(default=10, ge=1)
    """How often the biases of both sides are updated in turn."""


class Biases(Baseline[BiasesSettings]):
    """Baseline estimates with regularized biases (Koren, 2010, ACM TKDD 4(1), section 2.1).

    The rating of item i by user u is `μ + b_u + b_i`, with the mean μ of all ratings and

        b_i = Σ_u (r_ui - μ - b_u) / (λ_item + n_i),  b_u = Σ_i (r_ui - μ - b_i) / (λ_user + n_u)

    updated in turn, items first. That is alternating least squares with a ridge penalty. The
    shrinkage is fixed, not tuned on the data.
    """

    Settings = BiasesSettings
    models_interactions = False

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        settings, rows = self.settings, graph.rows[Side.USER]
        shrinkage = settings.user_shrinkage, settings.item_shrinkage
        entities = np.repeat(np.arange(len(rows)), rows.degrees), rows.indices
        residuals = graph.scale.decode(rows.codes).astype(np.float64) - graph.mean
        biases = [np.zeros(len(graph.ids[side])) for side in Side]
        for _ in range(settings.rounds):
            for side in (Side.ITEM, Side.USER):
                other = side.opposite
                left = residuals - biases[other][entities[other]]
                sums = np.bincount(entities[side], left, minlength=len(biases[side]))
                biases[side] = sums / (shrinkage[side] + graph.rows[side].degrees)
        mean = np.float32(graph.mean)
        user_bias, item_bias = (bias.astype(np.float32) for bias in biases)

        def scores(users: Ints, items: Ints) -> Floats:
            found: Floats = mean + user_bias[users] + item_bias[items]
            return found

        return Learned(scores, 1 + len(user_bias) + len(item_bias))
