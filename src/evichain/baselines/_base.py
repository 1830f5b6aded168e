"""What all baselines share: settings, ids, the scale, and the forms of questions and answers.

A baseline says how it learns from a graph; what it gives back is a function from users and items,
by index, to scores. Everything else is here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from evichain.answering.arguments import how_many, is_id, known, listed
from evichain.errors import DataError, NotFittedError, SettingsError
from evichain.kernels import Floats, Ints
from evichain.protocol import ManyIds, Prediction, Predictions, Recommendation
from evichain.ranking import highest
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.inputs import as_ratings
from evichain.ratings.side import Side
from evichain.recipes import checked

Scores = Callable[[Ints, Ints], Floats]
"""From users and items, by index, to what the ones would rate the others, off the scale or not."""

_PAIRS_AT_ONCE, _PAIRS_TRIED = 1 << 16, 1000


class BaselineSettings(BaseModel):
    """What every baseline can be told."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    seed: int = Field(default=0, ge=0, lt=2**63)
    """Everything random is drawn from it."""


@dataclass(frozen=True)
class Learned:
    """What came of learning.

    Attributes:
        parameters: how many numbers were learned.
        figures: of the training, as `training` tells them.
        order: what items are ranked by, where that is finer than scores; never against them.
    """

    scores: Scores
    parameters: int
    figures: Mapping[str, Any] = field(default_factory=dict)
    order: Scores | None = None


def finite(scores: Floats) -> Floats:
    """Scores as they are; what is no number tells that training has run away."""
    if not np.isfinite(scores).all():
        raise SettingsError("training diverged", where="learning_rate", right="Try a smaller one.")
    return scores


Chosen = TypeVar("Chosen", bound=BaselineSettings)


class Baseline(ABC, Generic[Chosen]):
    """A recommender that is made of the way in which it learns.

    Args:
        settings: any of its `Settings`.
    """

    Settings: ClassVar[type[BaselineSettings]]
    settings: Chosen

    def __init__(self, **settings: Any) -> None:
        self._state: tuple[Graph, Learned] | None = None
        self.training: dict[str, Any] = {}
        self._take(settings)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        return f"{type(self).__name__}({given})"

    @classmethod
    def check_installed(cls) -> None:
        """Complain, before the work is done, if something that it learns with is missing."""

    @abstractmethod
    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        """Learn from all ratings of a graph."""

    # scikit-learn's protocol

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, by name."""
        fields = self.Settings.model_fields.items()
        return {name: self._given.get(name, known.default) for name, known in fields}

    def set_params(self, **params: Any) -> Self:
        """Change settings; they hold from the next `fit`."""
        self._take({**self._given, **params})
        return self

    # the protocol of recommenders

    def fit(self, ratings: Any, *, progress: bool = False) -> Self:
        """Learn from ratings: a `Ratings`, or any table `Ratings.from_frame` takes."""
        table = as_ratings(ratings)
        graph = Graph.build(table)
        learned = self._learn(graph, progress=progress)
        self._keep(graph, learned)
        self.training = {"data": table.name, "ratings": len(table), **learned.figures}
        return self

    @overload
    def predict(self, users: Id, items: Id) -> Prediction: ...  # type: ignore[overload-overlap]
    @overload
    def predict(self, users: Id | ManyIds, items: Id | ManyIds) -> Predictions: ...
    def predict(self, users: Id | ManyIds, items: Id | ManyIds) -> Prediction | Predictions:
        """What users would rate items: one id of each, or as many of one as of the other."""
        asked = listed(users), listed(items)
        if len(asked[0]) != len(asked[1]):
            raise DataError(
                f"{len(asked[0])} users but {len(asked[1])} items", right="Give as many of each."
            )
        found = self._predict(asked)
        return found[0] if is_id(users) and is_id(items) else found

    def recommend(
        self, user: Id, n: int = 10, *, exclude_seen: bool = True
    ) -> list[Recommendation]:
        """The items that a user would rate highest.

        Args:
            exclude_seen: leave out what the user has rated.
        """
        graph, learned = self._fitted
        index = known(graph, Side.USER, user)
        items = np.arange(len(graph.ids[Side.ITEM]), dtype=np.int32)
        users = np.full_like(items, index)
        scores = learned.scores(users, items)
        shown = graph.scale.within(scores)
        # Scores off the scale are told apart here, though they are told as the same estimate.
        order = scores if learned.order is None else learned.order(users, items)
        seen = graph.rows[Side.USER].row(index)[0] if exclude_seen else items[:0]
        found = highest(order, np.ones(len(items), np.bool_), seen, how_many(n)).tolist()
        chosen = [(graph.ids[Side.ITEM][i], float(shown[i])) for i in found]
        return [Recommendation(item, estimate, graph.title(item)) for item, estimate in chosen]

    # what it is made of

    @property
    def graph(self) -> Graph:
        """The ratings that were learned from."""
        return self._fitted[0]

    @property
    def parameter_count(self) -> int:
        """How many numbers were learned."""
        return self._fitted[1].parameters

    # helpers

    def _take(self, given: Mapping[str, Any]) -> None:
        self.settings = checked(self.Settings, given)  # type: ignore[assignment]
        self._given = dict(given)

    def _keep(self, graph: Graph, learned: Learned) -> None:
        """Answer from what was learned, if it has answers."""
        some = np.linspace(0, len(graph) - 1, min(len(graph), _PAIRS_TRIED)).astype(np.int64)
        users, items, _ = graph.pairs(some)
        with np.errstate(all="ignore"):
            finite(learned.scores(users, items))
        self._state = graph, learned

    @property
    def _fitted(self) -> tuple[Graph, Learned]:
        if self._state is None:
            raise NotFittedError("this recommender knows nothing yet", right="Call fit(ratings).")
        return self._state

    def _predict(self, asked: tuple[list[Any], list[Any]]) -> Predictions:
        graph, learned = self._fitted
        users, items = (graph.ids[side].index(asked[side]) for side in Side)
        there = np.flatnonzero((users != UNKNOWN) & (items != UNKNOWN))
        estimates = np.full(len(users), graph.mean, np.float32)
        for start in range(0, len(there), _PAIRS_AT_ONCE):
            part = there[start : start + _PAIRS_AT_ONCE]
            estimates[part] = graph.scale.within(learned.scores(users[part], items[part]))
        index = users, items
        reasons: list[str | None] = [None] * len(users)
        for row in np.flatnonzero((users == UNKNOWN) | (items == UNKNOWN)).tolist():
            unknown = [side for side in Side if index[side][row] == UNKNOWN]
            reasons[row] = "; ".join(f"unknown {s.noun} {asked[s][row]!r}" for s in unknown)
        return Predictions(estimates, reasons)
