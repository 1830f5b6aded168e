"""How good lists are: every item ranked for each test user, but for what they have rated."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evichain.kernels import Flags, Floats, Ints, Longs, kernel
from evichain.progress import progress as progress_bar

Pairs = tuple[Longs, Ints]
"""Distinct (user, item) pairs as two arrays, users by their place among those ranked for."""

NOTHING = -1
_SCORES = 1 << 22
_FEW = 100


@dataclass(frozen=True)
class Ranking:
    """How well lists of n items fit what users turned out to like.

    Attributes:
        ndcg: the mean, over users, of DCG / ideal DCG. A relevant item at rank r adds
            1 / log2(r + 1); ideal is a list that begins with min(n, relevant) relevant items.
        recall: the mean, over users, of relevant items found / relevant items. Whoever has
            more than n relevant items cannot reach 1.
        coverage: the share of all items that are in at least one list.
        users: how many have a relevant item: the means are over these, and NaN without any.
        n: how long the lists are.
    """

    ndcg: float
    recall: float
    coverage: float
    users: int
    n: int


def rank(
    users: Floats,
    items: Floats,
    has_embedding: Sequence[Flags],
    seen: Pairs,
    relevant: Pairs,
    n: int = 10,
    *,
    progress: bool = False,
) -> Ranking:
    """Rank all items for each user and compare the first n with those that are relevant.

    Args:
        users, items: [k, D] and [m, D] (m > 0), whose dot products are the scores.
        there: which users get a list at all, and which items may be in one. A user without a
            list finds nothing; an item that is never listed is missed.
        seen: what users have rated before; never listed, and never relevant.
        relevant: what users turned out to like; `NOTHING` stands for an item that is not
            among the m, which is missed as well.
        n: how long the lists are, at least 1.
        progress: show a progress bar.

    >>> everything = np.ones(2, np.bool_), np.ones(3, np.bool_)
    >>> taste, films = np.eye(2, dtype=np.float32), np.array([[3, 1], [2, 3], [1, 2]], np.float32)
    >>> seen, liked = ([0], [0]), ([0, 1], [2, 1])
    >>> rank(taste, films, everything, seen, liked, n=1)  # item 1 for both
    Ranking(ndcg=0.5, recall=0.5, coverage=0.3333333333333333, users=2, n=1)
    """
    seen, relevant = _by_user(seen), _by_user(relevant)
    step = max(1, _SCORES // max(1, len(items)))
    covered = np.zeros(len(items), np.bool_)
    ndcgs, recalls = [], []
    with progress_bar("Ranking", len(users), enabled=progress, unit="users") as bar:
        for start in range(0, len(users), step):
            part = slice(start, min(start + step, len(users)))
            rated, liked = of_users(seen, part), of_users(relevant, part)
            lists = best_items(
                users[part], items, (has_embedding[0][part], has_embedding[1]), rated, n
            )
            covered[lists[lists != NOTHING]] = True
            hits, counts = _hits(lists, len(items), rated, liked)
            ndcgs.append(ndcg(hits, counts, n))
            recalls.append(hits.sum(axis=1)[counts > 0] / counts[counts > 0])
            bar(part.stop - part.start)
    return Ranking(
        ndcg=_mean(ndcgs),
        recall=_mean(recalls),
        coverage=float(covered.mean()) if len(covered) else 0.0,
        users=sum(map(len, ndcgs)),
        n=n,
    )


def best_items(
    users: Floats, items: Floats, has_embedding: Sequence[Flags], seen: Pairs, n: int
) -> npt.NDArray[np.int64]:
    """The n items with the highest scores for each user, highest first.

    [k, min(n, m)]; `NOTHING` at the end of lists for which there are fewer.
    """
    scores = users @ items.T
    scores[~has_embedding[0]] = -np.inf
    scores[:, ~has_embedding[1]] = -np.inf
    scores[seen] = -np.inf
    return top(scores, n)


def top(scores: Floats, n: int) -> npt.NDArray[np.int64]:
    """The places of the n highest scores in each row, highest first; of equals the first.

    [k, min(n, m)]; `NOTHING` stands at the end where fewer scores are above -inf.

    >>> top(np.array([[1, 3, -np.inf, 2]], np.float32), 9).tolist()
    [[1, 3, 0, -1]]
    """
    rest = scores.shape[1] - min(n, scores.shape[1])
    if rest == scores.shape[1]:
        return np.empty((len(scores), 0), np.int64)
    highest = np.argpartition(scores, rest, axis=1)[:, rest:]
    if rest:
        _choose_first(scores, highest)
    found = np.take_along_axis(scores, highest, axis=1)
    order = np.lexsort((highest, -found), axis=1)
    listed = ~np.isneginf(np.take_along_axis(found, order, axis=1))
    return np.where(listed, np.take_along_axis(highest, order, axis=1), NOTHING)


def _choose_first(scores: Floats, places: npt.NDArray[np.int64]) -> None:
    """Where some of those equal at the cut were left out, let it be the last of them.

    Args:
        places: [k, n], of n highest scores in each row.
    """
    found = np.take_along_axis(scores, places, axis=1)
    lowest = found.min(axis=1, keepdims=True)
    equal = scores == lowest
    missed = equal.sum(axis=1) > (found == lowest).sum(axis=1)
    (tied,) = np.nonzero(missed & ~np.isneginf(lowest[:, 0]))
    if len(tied):
        above, equal = scores[tied] > lowest[tied], equal[tied]
        room = places.shape[1] - above.sum(axis=1, keepdims=True)
        kept = above | (equal & (equal.cumsum(axis=1) <= room))
        places[tied] = np.nonzero(kept)[1].reshape(len(tied), -1)


def highest(scores: Floats, has_embedding: Flags, seen: Longs | Ints, n: int) -> Longs:
    """The places of the n highest scores, highest first; of equals the first.

    Args:
        there: which may be listed at all.
        seen: places that may not.

    >>> scores, there = np.array([1, 3, 4, 2], np.float32), np.ones(4, np.bool_)
    >>> highest(scores, there, np.array([2]), 2).tolist()
    [1, 3]
    """
    if n < 1:
        return np.empty(0, np.int64)
    if n <= _FEW:
        found: Longs = _first(scores, has_embedding, seen, n)
        return found
    left = np.where(has_embedding, scores, np.float32(-np.inf))
    left[seen] = -np.inf
    listed = top(left[np.newaxis], n)[0]
    chosen: Longs = listed[listed != NOTHING]
    return chosen


def alike(rows: Floats, has_embedding: Flags, place: int, n: int) -> tuple[Longs, Floats]:
    """The places of the n rows that point most nearly the same way as another, and how nearly.

    >>> rows = np.array([[1, 0], [2, 0], [1, 1], [0, 3]], np.float32)
    >>> found, cosines = alike(rows, np.array([True, True, True, False]), 0, 9)
    >>> found.tolist(), cosines.round(3).tolist()
    ([1, 2], [1.0, 0.7070000171661377])
    """
    lengths = np.linalg.norm(rows, axis=1) + np.float32(1e-12)
    cosines = rows @ rows[place] / (lengths * lengths[place])
    found = highest(cosines, has_embedding, np.array([place]), n)
    return found, cosines[found]


@kernel
def _first(scores: Floats, has_embedding: Flags, seen: Longs | Ints, n: int) -> Longs:
    """One pass with the best so far in order: few scores are among them, and most of those soon."""
    hidden = np.zeros(len(scores), np.bool_)
    for k in range(len(seen)):
        hidden[seen[k]] = True
    found = np.empty(n, np.int64)
    count = 0
    for i in range(len(scores)):
        score = scores[i]
        if count == n and not score > scores[found[n - 1]]:
            continue
        if hidden[i] or not has_embedding[i] or not score > -np.inf:
            continue
        place = min(count, n - 1)
        while place > 0 and scores[found[place - 1]] < score:
            found[place] = found[place - 1]
            place -= 1
        found[place] = i
        count = min(count + 1, n)
    return found[:count]


def ndcg(hits: Flags, counts: Longs, n: int) -> npt.NDArray[np.float64]:
    """DCG / ideal DCG of each list whose user has relevant items.

    Args:
        hits: [k, at most n], which places of the lists hold a relevant item.
        counts: [k], how many relevant items there are.

    >>> hits = np.array([[False, True], [True, True], [False, False]])
    >>> ndcg(hits, np.array([1, 5, 0]), 2).round(4).tolist()
    [0.6309, 1.0]
    """
    hits, ideal = hits[counts > 0], np.minimum(counts[counts > 0], n)
    longest = max(hits.shape[1], int(ideal.max(initial=0)))
    gains = 1 / np.log2(np.arange(2, longest + 2))
    # Both are summed from the first place on, so that a perfect list gives exactly 1.
    found = np.cumsum(hits * gains[: hits.shape[1]], axis=1)[:, -1:].sum(axis=1)
    quotients: npt.NDArray[np.float64] = found / np.cumsum(gains)[ideal - 1]
    return quotients


def _hits(
    lists: npt.NDArray[np.int64], wide: int, seen: Pairs, relevant: Pairs
) -> tuple[Flags, Longs]:
    """Which places of the lists hold a relevant item, and how many each user has."""
    wanted = np.zeros((len(lists), wide), np.bool_)
    who, what = relevant
    known = what != NOTHING
    wanted[who[known], what[known]] = True
    wanted[seen] = False
    counts = wanted.sum(axis=1) + np.bincount(who[~known], minlength=len(lists))
    return np.take_along_axis(wanted, lists, axis=1) & (lists != NOTHING), counts


def _by_user(pairs: Pairs) -> Pairs:
    who, what = np.asarray(pairs[0], np.int64), np.asarray(pairs[1], np.int32)
    order = np.argsort(who, kind="stable")
    return who[order], what[order]


def of_users(pairs: Pairs, part: slice) -> Pairs:
    """Of pairs sorted by user, those of some users, who are counted from the first of them."""
    first, last = np.searchsorted(pairs[0], (part.start, part.stop))
    return pairs[0][first:last] - part.start, pairs[1][first:last]


def _mean(parts: list[npt.NDArray[np.float64]]) -> float:
    values = np.concatenate(parts) if parts else np.empty(0)
    return float(values.mean()) if len(values) else float("nan")
