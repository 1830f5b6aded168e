"""Evaluate any recommender: errors, lists, and both by how much is known of a user."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np

from evichain.answering.arguments import how_many
from evichain.answering.lists import seen_pairs
from evichain.errors import DataError
from evichain.evaluation.list_quality import ListMetrics, RankedLists, make_lists
from evichain.evaluation.prediction_errors import ErrorMetrics, PredictionErrors
from evichain.evaluation.scoring import (
    ScoreFunction,
    is_recommender,
    list_maker,
    predictions_of_function,
)
from evichain.kernels import Longs
from evichain.protocol import Recommender
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.inputs import as_ratings, as_source
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings

Evaluated = Recommender | ScoreFunction

KNOWN_RATINGS = (0, 1, 6, 21, 101)
"""The smallest number of training ratings in each group of users."""


@dataclass(frozen=True)
class KnownGroup:
    """The figures of test users about whom a similar number of ratings is known.

    Attributes:
        known: the range of the number of training ratings, such as "6-20".
        users: the number of test users.
    """

    known: str
    users: int
    errors: ErrorMetrics
    lists: ListMetrics | None


@dataclass(frozen=True)
class Evaluation(ErrorMetrics):
    """The errors of a recommender and the quality of its lists.

    Attributes:
        lists: None if no lists were asked for.
        by_known: figures by how much is known of a user; None if not asked for.
    """

    lists: ListMetrics | None = None
    by_known: tuple[KnownGroup, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The figures by name, ready for JSON except that a mean over nobody is NaN."""
        return asdict(self)


def evaluate(
    recommender: Evaluated,
    test: Any,
    *,
    train: Any = None,
    n: int = 10,
    threshold: float | None = None,
    scale: Scale | None = None,
    by_known: bool = False,
    progress: bool = False,
) -> Evaluation:
    """Evaluate a recommender on ratings that it has not seen.

    Args:
        recommender: any that keeps `evichain.protocol.Recommender`, or a function that takes a
            user's id and a list of item ids and returns a score for each item.
        test: the ratings to test on, at least one.
        train: the ratings that the recommender knows. Needed for lists and `by_known`, unless
            the recommender has them as `graph`.
        n: the length of the lists; 0 for no lists.
        threshold: the lowest rating that makes an item relevant; the mean of the training
            ratings by default.
        scale: also give the RMSE with estimates clipped to this scale.
        by_known: also give the figures by how many training ratings the users have.
        progress: show a progress bar.
    """
    length, table = how_many(n), _tested(test)
    graph = _known(recommender, train) if length or by_known or train is not None else None
    errors = _errors(recommender, table, scale, graph)
    lists = None
    if length:
        assert graph is not None
        lists = _lists(recommender, graph, table, length, threshold, progress=progress)
    groups = None
    if by_known:
        assert graph is not None
        groups = _groups(graph, table, errors, lists)
    return Evaluation(
        **asdict(errors.metrics()), lists=lists.metrics() if lists else None, by_known=groups
    )


def list_metrics(
    recommender: Evaluated,
    test: Any,
    n: int = 10,
    *,
    train: Any = None,
    threshold: float | None = None,
    progress: bool = False,
) -> ListMetrics:
    """The quality of the lists alone; arguments are those of `evaluate`."""
    if how_many(n) < 1:
        raise DataError("a list of 0 items cannot be good", right="Ask for 1 or more.")
    graph, table = _known(recommender, train), as_ratings(test)
    return _lists(recommender, graph, table, n, threshold, progress=progress).metrics()


def _tested(test: Any) -> Ratings:
    table = as_ratings(test)
    if not len(table):
        raise DataError("no ratings to test on", where=table.name, right="Give one or more.")
    return table


def _known(recommender: Evaluated, train: Any) -> Graph:
    """The ratings that a recommender answers from."""
    if train is not None:
        source = as_source(train)
        return source if isinstance(source, Graph) else Graph.build(source)
    graph = getattr(recommender, "graph", None)
    if not isinstance(graph, Graph):
        raise DataError(
            "it is not known which items there are and what users have rated",
            where="train",
            right="Give the training ratings, or n=0 for errors alone.",
        )
    return graph


def _errors(
    recommender: Evaluated, table: Ratings, scale: Scale | None, graph: Graph | None
) -> PredictionErrors:
    users, items = (table.frame[side.column] for side in Side)
    if is_recommender(recommender):
        found = recommender.predict(users, items)
        if not getattr(recommender, "estimates_ratings", True):
            found = replace(found, estimates=np.full(len(found), np.nan, np.float32))
    else:
        mean = table.mean if graph is None else graph.mean
        score = cast(ScoreFunction, recommender)
        found = predictions_of_function(score, users.to_list(), items.to_list(), mean)
    return PredictionErrors.of(found, table.frame["rating"].to_numpy(), scale)


def _lists(
    recommender: Evaluated,
    graph: Graph,
    table: Ratings,
    n: int,
    threshold: float | None,
    *,
    progress: bool,
) -> RankedLists:
    """The lists of all test users, in the order of `_test_users`."""
    low = _default_threshold(recommender, graph) if threshold is None else threshold
    names, rows = _test_users(table)
    liked = table.frame["rating"].to_numpy() >= low
    items = graph.ids[Side.ITEM].index(table.frame["item_id"])
    seen = seen_pairs(graph, graph.ids[Side.USER].index(names))
    best = list_maker(recommender, graph, names)
    catalogue, relevant = len(graph.ids[Side.ITEM]), (rows[liked], items[liked])
    return make_lists(best, len(names), catalogue, seen, relevant, n, progress=progress)


def _default_threshold(recommender: Evaluated, graph: Graph) -> float:
    """The mean of the ratings trained on, which later ratings do not change."""
    return float(getattr(recommender, "training_mean", graph.mean))


def _test_users(table: Ratings) -> tuple[Sequence[Id], Longs]:
    """The distinct users, and for each rating the position of its user among them.

    Users are distinguished by id, not by index: two unknown users are two.
    """
    column = table.frame["user_id"]
    _, first, position = np.unique(column.to_numpy(), return_index=True, return_inverse=True)
    return column.gather(first).to_list(), position


def _groups(
    graph: Graph, table: Ratings, errors: PredictionErrors, lists: RankedLists | None
) -> tuple[KnownGroup, ...]:
    names, rows = _test_users(table)
    users = graph.ids[Side.USER].index(names)
    counts = np.where(users == UNKNOWN, 0, graph.rows[Side.USER].degrees[users])
    group_of = np.searchsorted(KNOWN_RATINGS, counts, side="right") - 1
    found = []
    for group in np.unique(group_of).tolist():
        chosen = group_of == group
        metrics = None if lists is None else lists.metrics(chosen)
        found.append(
            KnownGroup(_label(group), int(chosen.sum()), errors.metrics(chosen[rows]), metrics)
        )
    return tuple(found)


def _label(group: int) -> str:
    """What a group is called.

    >>> [_label(group) for group in range(len(KNOWN_RATINGS))]
    ['0', '1-5', '6-20', '21-100', '>100']
    """
    low = KNOWN_RATINGS[group]
    if group + 1 == len(KNOWN_RATINGS):
        return f">{low - 1}"
    high = KNOWN_RATINGS[group + 1] - 1
    return str(low) if low == high else f"{low}-{high}"
