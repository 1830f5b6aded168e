"""What the baselines for lists share: they order items by what people chose before.

A subclass learns a function from histories to the scores of all items. So it lists for users of
the data and for people it has not seen in the same way.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from evichain.answering.lists import seen_pairs
from evichain.baselines._base import Baseline, BaselineSettings, Learned
from evichain.evaluation.scoring import Histories, ScoreBlock
from evichain.kernels import Floats, Ints, Longs
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_CELLS = 1 << 22
"""The number of (user, item) scores in memory at a time."""


class ListSettings(BaselineSettings):
    """The settings of all baselines for lists."""

    weighted: bool = False
    """Weigh an interaction by its rating, a negative one as 0. Otherwise each counts as 1."""


@dataclass(frozen=True)
class LearnedLists:
    """The result of learning to list.

    Attributes:
        score: from histories, weighted as the model wants them, to scores: [histories, items].
        parameters: the number of learned parameters.
        figures: figures of the training.
    """

    score: Callable[[Histories], Floats]
    parameters: int
    figures: Mapping[str, Any] = field(default_factory=dict)


Chosen = TypeVar("Chosen", bound=ListSettings)


class ListBaseline(Baseline[Chosen]):
    """A baseline that orders items. Its estimates are scores, and no ratings.

    Attributes:
        grid: the settings that `evichain bench lists` tries on the validation part.
    """

    estimates_ratings = False
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    _score: Callable[[Histories], Floats]

    @abstractmethod
    def _learn_lists(self, graph: Graph, *, progress: bool) -> LearnedLists:
        """Learn from all interactions of a graph."""

    def score_histories(self, histories: Histories) -> Floats:
        """The scores of all items for people who need not be in the data: [histories, items]."""
        self._fitted  # noqa: B018  an error before `fit`
        return self._score(self._weighed(histories))

    def score_users(self, users: Ints) -> ScoreBlock:
        """The scores of all items for users, by index; see `evichain.evaluation.scoring`."""
        graph = self.graph

        def block(part: slice) -> Floats:
            scores = self.score_histories(histories_of(graph, users[part]))
            scores[users[part] == UNKNOWN] = -np.inf
            return scores

        return block

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        learned = self._learn_lists(graph, progress=progress)
        self._score = learned.score
        catalogue = len(graph.ids[Side.ITEM])

        def scores(users: Ints, items: Ints) -> Floats:
            distinct, position = np.unique(users, return_inverse=True)
            step, found = max(1, _CELLS // catalogue), np.empty(len(users), np.float32)
            for start in range(0, len(distinct), step):
                histories = histories_of(graph, distinct[start : start + step])
                block = learned.score(self._weighed(histories))
                asked = (position >= start) & (position < start + step)
                found[asked] = block[position[asked] - start, items[asked]]
            return found

        return Learned(scores, learned.parameters, learned.figures)

    def _weighed(self, histories: Histories) -> Histories:
        """The same histories with the weights that the model wants."""
        weights = weights_of(histories.weights, weighted=self.settings.weighted)
        return Histories(histories.indptr, histories.items, weights)

    def _interactions(self, graph: Graph) -> "csr_matrix":
        """The weights of all interactions: [users, items]."""
        from scipy.sparse import csr_matrix

        rows = graph.rows[Side.USER]
        weights = weights_of(graph.scale.decode(rows.codes), weighted=self.settings.weighted)
        shape: Any = len(rows), len(graph.ids[Side.ITEM])
        # Copies, because SciPy may sort them in place.
        return csr_matrix((weights, rows.indices.copy(), rows.indptr.copy()), shape)


def weights_of(ratings: Floats, *, weighted: bool) -> Floats:
    """The weight of each interaction.

    >>> weights_of(np.array([4, -1], np.float32), weighted=True).tolist()
    [4.0, 0.0]
    """
    return np.maximum(ratings, 0) if weighted else np.ones_like(ratings)


def histories_of(graph: Graph, users: Ints | Longs) -> Histories:
    """The histories of users of the graph; nothing for UNKNOWN."""
    rows = graph.rows[Side.USER]
    owners, items = seen_pairs(graph, users)
    counts = np.bincount(owners, minlength=len(users))
    indptr = np.append(0, np.cumsum(counts))
    known = np.where(users == UNKNOWN, 0, users)
    skipped = np.repeat(rows.indptr[known] - indptr[:-1], counts)
    codes = rows.codes[skipped + np.arange(len(items))]
    return Histories(indptr, items, graph.scale.decode(codes))
