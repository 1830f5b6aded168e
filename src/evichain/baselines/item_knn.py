"""Item kNN: a rating from those of similar items by the same user. From Surprise."""

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from evichain.baselines._base import BaselineSettings, Learned
from evichain.baselines._surprise import SurpriseBaseline
from evichain.ratings.graph import Graph

if TYPE_CHECKING:
    import surprise


class ItemKNNSettings(BaselineSettings):
    """The settings of `ItemKNN`; nothing is drawn, so the seed changes nothing."""

    neighbours: int = Field(default=40, ge=1)
    """k: how many of the most similar items that the user has rated are used, at most."""
    shrinkage: float = Field(default=100.0, ge=0)
    """How strongly similarities of items with few common users are shrunk towards zero."""


class ItemKNN(SurpriseBaseline[ItemKNNSettings]):
    """Item-based neighbours about baselines (Koren, 2010, ACM TKDD 4(1)).

    With baselines b_ui = μ + b_u + b_i and the k items N of those that user u has rated which are
    most similar to item i, the rating is

        b_ui + Σ_{j in N} s_ij (r_uj - b_uj) / Σ_{j in N} s_ij

    where s is the correlation of what baselines leave over, shrunken where few users have rated
    both (`surprise.KNNBaseline`).
    """

    Settings = ItemKNNSettings
    learned = ("bu", "bi", "sim")

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        if not graph.std:
            # Ratings that are all the same leave nothing to correlate.
            return Learned(lambda users, items: np.full(len(users), graph.mean, np.float32), 1)
        return super()._learn(graph, progress=progress)

    def _algorithm(self) -> "surprise.AlgoBase":
        from surprise import KNNBaseline

        options = {
            "name": "pearson_baseline",
            "user_based": False,
            "shrinkage": self.settings.shrinkage,
        }
        return KNNBaseline(self.settings.neighbours, sim_options=options, verbose=False)
