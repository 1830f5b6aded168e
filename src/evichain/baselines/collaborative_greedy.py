"""Collaborative greedy: what users with a similar history chose."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from evichain.baselines._lists import LearnedLists, ListBaseline, ListSettings, histories_of
from evichain.evaluation.scoring import Histories
from evichain.kernels import Floats
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side

_CELLS = 1 << 22
"""The number of (user, item) cells in memory at a time."""


class CollaborativeGreedySettings(ListSettings):
    """The settings of `CollaborativeGreedy`; nothing is drawn, so the seed changes nothing."""

    similarity: float = Field(default=0.2, ge=0, le=1)
    """Theta: the lowest cosine between the histories of two neighbours."""


class CollaborativeGreedy(ListBaseline[CollaborativeGreedySettings]):
    """The exploiting step of COLLABORATIVE-GREEDY (Bresler, Chen and Shah, 2014, NIPS).

    Users come from a few sources of taste, so that similar histories mean a common source. The
    neighbours N of a history are the users whose histories have a cosine of θ or more with it,
    and the score of item i is the share of them who like it:

        Σ_{v in N} x_vi / |N|

    The paper has likes and dislikes; here, what was not chosen counts as disliked. Without
    neighbours, everyone is one. The paper's other steps explore, which a fixed data set does not
    allow.
    """

    Settings = CollaborativeGreedySettings
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"similarity": value} for value in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
    )

    def _learn_lists(self, graph: Graph, *, progress: bool) -> LearnedLists:
        with progress_bar("Training CollaborativeGreedy", 1, enabled=progress, unit="model") as bar:
            everyone = self._weighed(histories_of(graph, np.arange(len(graph.ids[Side.USER]))))
            bar()

        threshold = np.float32(self.settings.similarity)

        def score(histories: Histories) -> Floats:
            return _shares(histories, everyone, len(graph.ids[Side.ITEM]), threshold)

        return LearnedLists(score, len(graph))


def _shares(asked: Histories, everyone: Histories, items: int, threshold: np.float32) -> Floats:
    """The share of the neighbours of each history who like each item, by weight."""
    own = _directions(asked.dense(items))
    near = np.zeros((len(asked), items), np.float32)
    every, counts = np.zeros(items, np.float32), np.zeros((len(asked), 1), np.float32)
    step = max(1, _CELLS // items)
    for start in range(0, len(everyone), step):
        users = everyone.part(slice(start, min(start + step, len(everyone)))).dense(items)
        neighbours = (own @ _directions(users).T >= threshold).astype(np.float32)
        near += neighbours @ users
        counts += neighbours.sum(axis=1, keepdims=True)
        every += users.sum(axis=0)
    found: Floats = np.where(
        counts > 0, near / np.maximum(counts, 1), every / np.float32(len(everyone))
    )
    return found


def _directions(rows: Floats) -> Floats:
    """Rows of length 1; a row of zeros stays one."""
    lengths: Floats = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    found: Floats = rows / lengths
    return found
