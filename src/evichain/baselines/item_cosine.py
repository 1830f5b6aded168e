"""Item kNN for lists: the items most similar to those of a history. From implicit."""

from collections.abc import Mapping
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from evichain.baselines._implicit import ImplicitBaseline
from evichain.baselines._lists import LearnedLists, ListSettings
from evichain.evaluation.scoring import Histories
from evichain.kernels import Floats, thread_count
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side


class ItemCosineSettings(ListSettings):
    """The settings of `ItemCosine`; nothing is drawn, so the seed changes nothing."""

    neighbours: int = Field(default=100, ge=1)
    """k: how many of the most similar items each item of a history speaks for."""
    weighting: Literal["cosine", "tfidf", "bm25"] = "cosine"
    """How interactions are weighted before items are compared: "cosine" as they are; "tfidf" and
    "bm25" count those of users with many interactions less, and normalize."""


class ItemCosine(ImplicitBaseline[ItemCosineSettings]):
    """Item-based neighbours for lists (Deshpande and Karypis, 2004, ACM TOIS 22(1)).

    Item i has the score Σ_j x_j s_ji over the items j of a history x, where s_ji is the
    similarity of the two items' interactions if i is among the k items most similar to j, and
    else 0. The similarity is the cosine, or what implicit makes of TF-IDF or BM25 weights.
    """

    Settings = ItemCosineSettings
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"neighbours": neighbours, "weighting": weighting}
        for neighbours, weighting in product((20, 50, 100, 200), ("cosine", "tfidf", "bm25"))
    )

    def _learn_lists(self, graph: Graph, *, progress: bool) -> LearnedLists:
        self.check_installed()
        from implicit.nearest_neighbours import (
            ItemItemRecommender,
            bm25_weight,
            normalize,
            tfidf_weight,
        )
        from scipy.sparse import csr_matrix

        weigh = {
            "cosine": normalize,
            "tfidf": lambda items: normalize(tfidf_weight(items)),
            "bm25": lambda items: bm25_weight(items, K1=1.2, B=0.75),
        }[self.settings.weighting]
        size = len(graph.ids[Side.ITEM])
        model = ItemItemRecommender(min(self.settings.neighbours, size), thread_count())
        with (
            progress_bar("Training ItemCosine", 1, enabled=progress, unit="model") as bar,
            # An item whose interactions all weigh 0 has no direction.
            np.errstate(invalid="ignore", divide="ignore"),
        ):
            model.fit(weigh(self._interactions(graph).T).T.tocsr(), show_progress=False)
            bar()
        similarity = model.similarity.astype(np.float32)
        np.nan_to_num(similarity.data, copy=False)

        def score(histories: Histories) -> Floats:
            shape: Any = len(histories), size
            chosen = csr_matrix((histories.weights, histories.items, histories.indptr), shape)
            scores: Floats = (chosen @ similarity).toarray()
            return scores

        return LearnedLists(score, int(similarity.nnz))
