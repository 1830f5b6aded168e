"""The items with the highest scores: of one user, of many users, and those most similar."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evichain.kernels import Flags, Floats, Ints, Longs, kernel

Pairs = tuple[Longs, Ints]
"""Distinct (user, item) pairs as two arrays, users by their place among those ranked for."""

NOTHING = -1
_FEW = 100


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


def of_users(pairs: Pairs, part: slice) -> Pairs:
    """Of pairs sorted by user, those of some users, who are counted from the first of them."""
    first, last = np.searchsorted(pairs[0], (part.start, part.stop))
    return pairs[0][first:last] - part.start, pairs[1][first:last]
