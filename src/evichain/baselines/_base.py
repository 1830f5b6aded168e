"""The base class of all baselines: settings, ids, the scale, predictions and lists.

A subclass only learns from a graph. It returns a function from user and item indices to scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from evichain.answering.arguments import broadcast, how_many, is_guest, is_id, known
from evichain.answering.ranking import top_of_one
from evichain.errors import DataError, NotFittedError, SettingsError
from evichain.evaluation.scoring import ScoreBlock
from evichain.kernels import Floats, Ints
from evichain.protocol import ManyIds, Prediction, Predictions, Recommendation
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.inputs import as_training
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import checked

Scores = Callable[[Ints, Ints], Floats]
"""From parallel arrays of user and item indices to scores, which may lie off the scale."""

_PAIRS_AT_ONCE, _PAIRS_TRIED = 1 << 16, 1000


class BaselineSettings(BaseModel):
    """The settings of every baseline."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    seed: int = Field(default=0, ge=0, lt=2**63)
    """The seed of all random draws."""


@dataclass(frozen=True)
class Learned:
    """The result of learning.

    Attributes:
        parameters: the number of learned parameters.
        figures: figures of the training, for `training`.
        order: what items are ranked by, if that breaks ties between equal scores.
    """

    scores: Scores
    parameters: int
    figures: Mapping[str, Any] = field(default_factory=dict)
    order: Scores | None = None


def finite(scores: Floats) -> Floats:
    """The same scores; an error if one is not finite, which means that training diverged."""
    if not np.isfinite(scores).all():
        raise SettingsError("training diverged", where="learning_rate", right="Try a smaller one.")
    return scores


Chosen = TypeVar("Chosen", bound=BaselineSettings)


class Baseline(ABC, Generic[Chosen]):
    """A recommender that is defined by how it learns.

    Args:
        settings: any of its `Settings`.
    """

    Settings: ClassVar[type[BaselineSettings]]
    models_interactions: ClassVar[bool] = True
    """False for a model that ranks items alike for all users."""
    estimates_ratings: ClassVar[bool] = True
    """False for a model whose estimates are scores: they order items, on a scale of their own."""
    settings: Chosen

    def __init__(self, **settings: Any) -> None:
        self._state: tuple[Graph, Learned] | None = None
        self.training: dict[str, Any] = {}
        self._set(settings)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        return f"{type(self).__name__}({given})"

    @classmethod
    def check_installed(cls) -> None:
        """Raise an error, before any work, if a library that it needs is not installed."""

    @abstractmethod
    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        """Learn from all ratings of a graph."""

    # scikit-learn's protocol

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, by name."""
        fields = self.Settings.model_fields.items()
        return {name: self._given.get(name, field.default) for name, field in fields}

    def set_params(self, **params: Any) -> Self:
        """Change settings; they hold from the next `fit`."""
        self._set({**self._given, **params})
        return self

    # the protocol of recommenders

    def fit(self, ratings: Any, *, progress: bool = False) -> Self:
        """Learn from ratings: a `Ratings`, a `Graph`, a file, or a table for `from_frame`."""
        source = as_training(ratings)
        graph = source if isinstance(source, Graph) else Graph.build(source)
        learned = self._learn(graph, progress=progress)
        self._keep(graph, learned)
        self.training = {
            "data": source.name if isinstance(source, Ratings) else "",
            "ratings": len(source),
            **learned.figures,
        }
        return self

    @overload
    def predict(self, users: Id, items: Id) -> Prediction: ...  # type: ignore[overload-overlap]
    @overload
    def predict(self, users: Id | ManyIds, items: Id | ManyIds) -> Predictions: ...
    def predict(self, users: Id | ManyIds, items: Id | ManyIds) -> Prediction | Predictions:
        """What users would rate items: equally many of both, or one with many."""
        _refuse_guest(users)
        found = self._predict(broadcast(users, items))
        return found[0] if is_id(users) and is_id(items) else found

    def recommend(
        self, user: Id, n: int = 10, *, exclude_seen: bool = True
    ) -> list[Recommendation]:
        """The items that the user would rate highest.

        Args:
            exclude_seen: leave out the items that the user has rated.
        """
        _refuse_guest(user)
        graph, learned = self._fitted
        index = known(graph, Side.USER, user)
        items = np.arange(len(graph.ids[Side.ITEM]), dtype=np.int32)
        users = np.full_like(items, index)
        scores = learned.scores(users, items)
        shown = self._estimates(graph, scores)
        # Ranked by the raw scores: estimates beyond the end of the scale are clipped to be equal.
        order = scores if learned.order is None else learned.order(users, items)
        seen = graph.rows[Side.USER].row(index)[0] if exclude_seen else items[:0]
        found = top_of_one(order, np.ones(len(items), np.bool_), seen, how_many(n)).tolist()
        chosen = [(graph.ids[Side.ITEM][i], float(shown[i])) for i in found]
        return [Recommendation(item, estimate, graph.title(item)) for item, estimate in chosen]

    def score_users(self, users: Ints) -> ScoreBlock:
        """The scores of all items for users, by index; see `evichain.evaluation.scoring`."""
        graph, learned = self._fitted
        score = learned.scores if learned.order is None else learned.order
        items = np.arange(len(graph.ids[Side.ITEM]), dtype=np.int32)

        def block(part: slice) -> Floats:
            found = np.full((part.stop - part.start, len(items)), -np.inf, np.float32)
            for row, user in zip(found, users[part].tolist(), strict=True):
                if user != UNKNOWN:
                    row[:] = score(np.full_like(items, user), items)
            return found

        return block

    # what it is made of

    @property
    def graph(self) -> Graph:
        """The ratings that were learned from."""
        return self._fitted[0]

    @property
    def parameter_count(self) -> int:
        """The number of learned parameters."""
        return self._fitted[1].parameters

    # helpers

    def _set(self, given: Mapping[str, Any]) -> None:
        self.settings = checked(self.Settings, given)  # type: ignore[assignment]
        self._given = dict(given)

    def _keep(self, graph: Graph, learned: Learned) -> None:
        """Answer from what was learned, after a check that its scores are finite."""
        some = np.linspace(0, len(graph) - 1, min(len(graph), _PAIRS_TRIED)).astype(np.int64)
        users, items, _ = graph.pairs(some)
        with np.errstate(all="ignore"):
            finite(learned.scores(users, items))
        self._state = graph, learned

    @property
    def _fitted(self) -> tuple[Graph, Learned]:
        if self._state is None:
            raise NotFittedError("this recommender is not fitted yet", right="Call fit(ratings).")
        return self._state

    def _estimates(self, graph: Graph, scores: Floats) -> Floats:
        """What `predict` says of these scores."""
        return graph.scale.within(scores) if self.estimates_ratings else scores

    def _predict(self, asked: tuple[list[Any], list[Any]]) -> Predictions:
        graph, learned = self._fitted
        users, items = (graph.ids[side].index(asked[side]) for side in Side)
        known_pairs = np.flatnonzero((users != UNKNOWN) & (items != UNKNOWN))
        nothing_known = graph.mean if self.estimates_ratings else 0.0
        estimates = np.full(len(users), nothing_known, np.float32)
        for start in range(0, len(known_pairs), _PAIRS_AT_ONCE):
            part = known_pairs[start : start + _PAIRS_AT_ONCE]
            estimates[part] = self._estimates(graph, learned.scores(users[part], items[part]))
        index = users, items
        reasons: list[str | None] = [None] * len(users)
        for row in np.flatnonzero((users == UNKNOWN) | (items == UNKNOWN)).tolist():
            unknown = [side for side in Side if index[side][row] == UNKNOWN]
            reasons[row] = "; ".join(f"unknown {s.noun} {asked[s][row]!r}" for s in unknown)
        return Predictions(
            estimates, reasons, users=asked[Side.USER], items=asked[Side.ITEM], title_of=graph.title
        )


def _refuse_guest(user: object) -> None:
    if is_guest(user):
        raise DataError(
            "this recommender does not serve guests, who only bring ratings",
            right="Give the id of a user it was trained on, or use REC.",
        )
