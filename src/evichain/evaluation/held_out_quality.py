"""How good lists are for held-out users, who bring a part of their interactions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from evichain.answering.ranking import NO_ITEM
from evichain.errors import DataError
from evichain.evaluation.held_out_users import HeldOutPart
from evichain.evaluation.list_quality import (
    Doubles,
    RankedLists,
    average_precision,
    make_lists,
    ndcg,
    reciprocal_rank,
)
from evichain.evaluation.scoring import Histories, history_list_maker
from evichain.kernels import Flags, Ints, Longs, kernel
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.rows import Rows
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings

LONGEST = 100
"""The length of the lists."""

SHORTEST = 20
"""How many first items of a list coverage, popularity and diversity look at."""


@dataclass(frozen=True)
class HeldOutMetrics:
    """How well lists of 100 items match what held-out users chose.

    Means are over the users who want at least one item.

    Attributes:
        users: the number of those users.
        recall_20, recall_50: hits among the first k / min(k, wanted).
        ndcg_100: DCG / ideal DCG. A hit at rank r adds 1 / log2(r + 1).
        mrr: 1 / the rank of the first hit; 0 without one.
        map: average precision: the sum of precision@r over the ranks r of hits, divided by
            min(100, wanted).
        coverage: the share of all items that are among the first 20 of at least one list.
        popularity: the mean number of training interactions of the first 20 items, over that of
            the wanted items. Above 1, lists are more popular than what users choose.
        diversity: 1 - the mean cosine between the training interactions of two of the first 20.
    """

    users: int
    recall_20: float
    recall_50: float
    ndcg_100: float
    mrr: float
    map: float
    coverage: float
    popularity: float
    diversity: float

    def to_dict(self) -> dict[str, Any]:
        """The figures by name, ready for JSON except that a mean over nobody is NaN."""
        return asdict(self)


def evaluate_held_out(
    recommender: Any, part: HeldOutPart, *, progress: bool = False
) -> HeldOutMetrics:
    """Evaluate the lists of a recommender for held-out users.

    Args:
        recommender: fitted to the training part. It has `graph` and either `score_histories`
            (`evichain.evaluation.ScoresHistories`) or a `recommend` that takes the (item, rating)
            pairs of a guest.
        part: `validation` or `test` of `held_out_users`.
        progress: show a progress bar.
    """
    graph = getattr(recommender, "graph", None)
    if not isinstance(graph, Graph):
        raise DataError(
            f"{type(recommender).__name__} has no `graph`, which says what items there are",
            right="Give a fitted recommender such as REC or a baseline.",
        )
    # The others count in no mean, so no lists are made for them.
    names = part.wanted.frame["user_id"].unique().sort()
    histories = _histories(graph, part.given, names)
    seen = histories.owners, histories.items
    best = history_list_maker(recommender, histories, graph)
    catalogue, wanted = len(graph.ids[Side.ITEM]), _pairs(graph, part.wanted, names)
    lists = make_lists(best, len(names), catalogue, seen, wanted, LONGEST, progress=progress)
    return _metrics(lists, wanted[1], graph)


def _histories(graph: Graph, given: Ratings, names: pl.Series) -> Histories:
    """The given interactions of these users, without items that the graph does not have."""
    kept = given.frame["user_id"].is_in(names.implode())
    table = given.take(kept)
    users, items = _pairs(graph, table, names)
    weights = table.frame["rating"].to_numpy().astype(np.float32)
    order = np.lexsort((items, users))
    order = order[items[order] != UNKNOWN]
    counts = np.bincount(users[order], minlength=len(names))
    return Histories(np.append(0, np.cumsum(counts)), items[order], weights[order])


def _pairs(graph: Graph, table: Ratings, names: pl.Series) -> tuple[Longs, Ints]:
    """The users of a table as positions among `names`, and the items as indices."""
    positions = pl.int_range(len(names), dtype=pl.Int64, eager=True)
    users = table.frame["user_id"].replace_strict(names, positions, return_dtype=pl.Int64)
    return users.to_numpy(), graph.ids[Side.ITEM].index(table.frame["item_id"])


def _metrics(lists: RankedLists, wanted: Ints, graph: Graph) -> HeldOutMetrics:
    counted = lists.relevant > 0
    hits, relevant = lists.hits[counted], lists.relevant[counted]
    first = lists.items[counted, :SHORTEST]
    listed, degrees = first[first != NO_ITEM], graph.rows[Side.ITEM].degrees
    chosen = degrees[wanted[wanted != UNKNOWN]]
    return HeldOutMetrics(
        users=len(relevant),
        recall_20=_mean(recall(hits, relevant, 20)),
        recall_50=_mean(recall(hits, relevant, 50)),
        ndcg_100=_mean(ndcg(hits, relevant, LONGEST)),
        mrr=_mean(reciprocal_rank(hits)),
        map=_mean(average_precision(hits, relevant, LONGEST)),
        coverage=len(np.unique(listed)) / max(1, lists.catalogue),
        popularity=_mean(degrees[listed]) / _mean(chosen) if len(chosen) else float("nan"),
        diversity=_mean(diversity(first, graph.rows[Side.ITEM], len(graph.ids[Side.USER]))),
    )


def recall(hits: Flags, wanted: Longs, n: int) -> Doubles:
    """Hits among the first n of each list / min(n, wanted).

    >>> recall(np.array([[False, True, True]]), np.array([3]), 2).tolist()
    [0.5]
    """
    found: Doubles = hits[:, :n].sum(axis=1) / np.minimum(wanted, n)
    return found


def diversity(lists: Ints, rows: Rows, users: int) -> Doubles:
    """1 - the mean cosine between two items of each list that has two or more.

    An item is the vector of its interactions, 1 for each of the users who have it.

    Args:
        lists: [k, n] items; `NO_ITEM` fills up short lists.
        rows: those of the items.
    """
    counts = (lists != NO_ITEM).sum(axis=1)
    # The squared length of the sum of n unit vectors is n plus the cosines of all ordered pairs.
    squares = _squared_sums(lists, rows.indptr, rows.indices, users)
    several = counts > 1
    found: Doubles = 1 - (squares - counts)[several] / (counts * (counts - 1))[several]
    return found


@kernel
def _squared_sums(lists: Ints, indptr: Longs, indices: Ints, users: int) -> Doubles:
    """For each list, the squared length of the sum of its items' unit vectors."""
    found, sums = np.zeros(len(lists)), np.zeros(users)
    for k in range(len(lists)):
        for item in lists[k]:
            if item >= 0 and indptr[item + 1] > indptr[item]:
                part = 1 / np.sqrt(indptr[item + 1] - indptr[item])
                for position in range(indptr[item], indptr[item + 1]):
                    user = indices[position]
                    found[k] += part * (2 * sums[user] + part)
                    sums[user] += part
        for item in lists[k]:
            if item >= 0:
                for position in range(indptr[item], indptr[item + 1]):
                    sums[indices[position]] = 0.0
    return found


def _mean(values: Sequence[float] | Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
