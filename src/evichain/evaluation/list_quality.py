"""How good recommended lists are: NDCG, recall, precision, MRR, MAP and catalogue coverage.

Every item that a user has not rated is ranked; there is no sampling of negatives.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evichain.answering.lists import Pairs, pairs_of_users
from evichain.answering.ranking import NO_ITEM
from evichain.evaluation.scoring import ListMaker
from evichain.kernels import Flags, Ints, Longs
from evichain.progress import progress as progress_bar

Doubles = npt.NDArray[np.float64]

_CELLS = 1 << 22
"""The number of (user, item) cells in memory at a time."""


@dataclass(frozen=True)
class ListMetrics:
    """How well lists of n items match what users liked.

    Means are over the users who have a relevant item; they are NaN if there is none.

    Attributes:
        n: the length of the lists.
        users: the number of users with a relevant item.
        ndcg: DCG / ideal DCG. A relevant item at rank r adds 1 / log2(r + 1). The ideal list
            starts with min(n, relevant) relevant items.
        recall: relevant items in the list / relevant items. A user with more than n relevant
            items cannot reach 1.
        precision: relevant items in the list / n.
        mrr: 1 / the rank of the first relevant item; 0 if the list has none.
        map: average precision: the sum of precision@r over the ranks r of relevant items, divided
            by min(n, relevant).
        coverage: the share of all items that are in at least one list.
    """

    n: int
    users: int
    ndcg: float
    recall: float
    precision: float
    mrr: float
    map: float
    coverage: float


@dataclass(frozen=True, eq=False)
class RankedLists:
    """The lists of test users, so that any selection of users can be summarized.

    Attributes:
        items: [users, at most n], the best first; `NO_ITEM` fills up short lists.
        hits: the same shape, whether an item is relevant.
        relevant: [users], the number of relevant items.
        catalogue: the number of items that could be listed.
    """

    n: int
    items: Ints
    hits: Flags
    relevant: Longs
    catalogue: int

    def metrics(self, chosen: Flags | slice = slice(None)) -> ListMetrics:
        """The metrics of some users' lists, of all by default."""
        listed = self.items[chosen]
        counted = self.relevant[chosen] > 0
        hits, relevant = self.hits[chosen][counted], self.relevant[chosen][counted]
        found = hits.sum(axis=1)
        covered = len(np.unique(listed[listed != NO_ITEM]))
        return ListMetrics(
            n=self.n,
            users=len(relevant),
            ndcg=_mean(ndcg(hits, relevant, self.n)),
            recall=_mean(found / relevant),
            precision=_mean(found / self.n),
            mrr=_mean(reciprocal_rank(hits)),
            map=_mean(average_precision(hits, relevant, self.n)),
            coverage=covered / self.catalogue if self.catalogue else 0.0,
        )


def make_lists(
    best: ListMaker,
    users: int,
    catalogue: int,
    seen: Pairs,
    relevant: Pairs,
    n: int,
    *,
    progress: bool = False,
) -> RankedLists:
    """List the best unseen items of each user, and mark those that are relevant.

    Args:
        best: lists the best items of a part of the users.
        users, catalogue: the number of users and of items.
        seen: what users rated before; never listed and never relevant.
        relevant: what users turned out to like. `NO_ITEM` stands for an item that is not in the
            catalogue: it counts as relevant and is always missed.
        n: the length of the lists, at least 1.
        progress: show a progress bar.
    """
    seen, relevant = _by_user(seen), _by_user(relevant)
    step = max(1, _CELLS // max(1, catalogue))
    items = np.full((users, min(n, catalogue)), NO_ITEM, np.int32)
    hits, counts = np.zeros(items.shape, np.bool_), np.zeros(users, np.int64)
    with progress_bar("Ranking", users, enabled=progress, unit="users") as bar:
        for start in range(0, users, step):
            part = slice(start, min(start + step, users))
            rated, liked = pairs_of_users(seen, part), pairs_of_users(relevant, part)
            items[part] = best(part, rated, n)
            hits[part], counts[part] = _hits(items[part], catalogue, rated, liked)
            bar(part.stop - part.start)
    return RankedLists(n, items, hits, counts, catalogue)


def ndcg(hits: Flags, relevant: Longs, n: int) -> Doubles:
    """DCG / ideal DCG of each list.

    Args:
        hits: [k, at most n], which ranks of the lists hold a relevant item.
        relevant: [k], the number of relevant items, at least 1.

    >>> ndcg(np.array([[False, True], [True, True]]), np.array([1, 5]), 2).round(4).tolist()
    [0.6309, 1.0]
    """
    ideal = np.minimum(relevant, n)
    longest = max(hits.shape[1], int(ideal.max(initial=0)))
    gains = 1 / np.log2(np.arange(2, longest + 2))
    # Both sums start at the first rank, so that a perfect list gives exactly 1.
    found = np.cumsum(hits * gains[: hits.shape[1]], axis=1)[:, -1:].sum(axis=1)
    quotients: Doubles = found / np.cumsum(gains)[ideal - 1]
    return quotients


def reciprocal_rank(hits: Flags) -> Doubles:
    """1 / the rank of the first hit of each list; 0 without a hit.

    >>> reciprocal_rank(np.array([[False, True], [True, True], [False, False]])).tolist()
    [0.5, 1.0, 0.0]
    """
    ranks = np.arange(1, hits.shape[1] + 1)
    best: Doubles = (hits / ranks).max(axis=1, initial=0.0)
    return best


def average_precision(hits: Flags, relevant: Longs, n: int) -> Doubles:
    """The mean of precision@r over the ranks r of the relevant items; 0 for those missed.

    >>> average_precision(np.array([[True, False, True]]), np.array([2]), 3).round(4).tolist()
    [0.8333]
    """
    ranks = np.arange(1, hits.shape[1] + 1)
    precisions = np.cumsum(hits, axis=1) / ranks * hits
    found: Doubles = precisions.sum(axis=1) / np.minimum(relevant, n)
    return found


def _hits(lists: Ints, catalogue: int, seen: Pairs, relevant: Pairs) -> tuple[Flags, Longs]:
    """Which ranks of the lists hold a relevant item, and how many each user has."""
    wanted = np.zeros((len(lists), catalogue), np.bool_)
    who, what = relevant
    known = what != NO_ITEM
    wanted[who[known], what[known]] = True
    wanted[seen] = False
    counts = wanted.sum(axis=1) + np.bincount(who[~known], minlength=len(lists))
    if not lists.shape[1]:
        return np.zeros(lists.shape, np.bool_), counts
    return np.take_along_axis(wanted, lists.astype(np.int64), axis=1) & (lists != NO_ITEM), counts


def _by_user(pairs: Pairs) -> Pairs:
    who, what = np.asarray(pairs[0], np.int64), np.asarray(pairs[1], np.int32)
    order = np.argsort(who, kind="stable")
    return who[order], what[order]


def _mean(values: Doubles) -> float:
    return float(values.mean()) if len(values) else float("nan")
