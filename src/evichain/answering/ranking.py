"""The highest scores: the best items for one user or many, and the rows most similar to a row."""

import numpy as np
import numpy.typing as npt

from evichain.kernels import Flags, Floats, Ints, Longs, kernel

NO_ITEM = -1
"""Fills up a list that is shorter than asked for."""

_SHORT_LIST = 100
"""Up to this length one pass that keeps the best so far is faster than a partial sort."""


def top(scores: Floats, n: int) -> npt.NDArray[np.int64]:
    """The columns of the n highest scores in each row, best first; ties go to the first column.

    [k, min(n, m)]; `NO_ITEM` fills up rows with fewer scores above -inf.

    >>> top(np.array([[1, 3, -np.inf, 2]], np.float32), 9).tolist()
    [[1, 3, 0, -1]]
    """
    rest = scores.shape[1] - min(n, scores.shape[1])
    if rest == scores.shape[1]:
        return np.empty((len(scores), 0), np.int64)
    best = np.argpartition(scores, rest, axis=1)[:, rest:]
    if rest:
        _break_ties(scores, best)
    found = np.take_along_axis(scores, best, axis=1)
    order = np.lexsort((best, -found), axis=1)
    listed = ~np.isneginf(np.take_along_axis(found, order, axis=1))
    return np.where(listed, np.take_along_axis(best, order, axis=1), NO_ITEM)


def _break_ties(scores: Floats, columns: npt.NDArray[np.int64]) -> None:
    """Among scores equal to the lowest one chosen, choose those of the first columns.

    Args:
        columns: [k, n], of n highest scores in each row; changed in place.
    """
    found = np.take_along_axis(scores, columns, axis=1)
    lowest = found.min(axis=1, keepdims=True)
    equal = scores == lowest
    missed = equal.sum(axis=1) > (found == lowest).sum(axis=1)
    (tied,) = np.nonzero(missed & ~np.isneginf(lowest[:, 0]))
    if len(tied):
        above, equal = scores[tied] > lowest[tied], equal[tied]
        room = columns.shape[1] - above.sum(axis=1, keepdims=True)
        kept = above | (equal & (equal.cumsum(axis=1) <= room))
        columns[tied] = np.nonzero(kept)[1].reshape(len(tied), -1)


def top_of_one(scores: Floats, allowed: Flags, excluded: Longs | Ints, n: int) -> Longs:
    """The positions of the n highest scores, best first; ties go to the first position.

    Args:
        allowed: which positions may be listed.
        excluded: positions that may not.

    >>> scores, allowed = np.array([1, 3, 4, 2], np.float32), np.ones(4, np.bool_)
    >>> top_of_one(scores, allowed, np.array([2]), 2).tolist()
    [1, 3]
    """
    if n < 1:
        return np.empty(0, np.int64)
    if n <= _SHORT_LIST:
        found: Longs = _short_list(scores, allowed, excluded, n)
        return found
    left = np.where(allowed, scores, np.float32(-np.inf))
    left[excluded] = -np.inf
    listed = top(left[np.newaxis], n)[0]
    chosen: Longs = listed[listed != NO_ITEM]
    return chosen


def most_similar(rows: Floats, allowed: Flags, position: int, n: int) -> tuple[Longs, Floats]:
    """The positions of the n rows with the highest cosine to a row, and the cosines.

    >>> rows = np.array([[1, 0], [2, 0], [1, 1], [0, 3]], np.float32)
    >>> found, cosines = most_similar(rows, np.array([True, True, True, False]), 0, 9)
    >>> found.tolist(), cosines.round(3).tolist()
    ([1, 2], [1.0, 0.7070000171661377])
    """
    lengths = np.linalg.norm(rows, axis=1) + np.float32(1e-12)
    cosines = rows @ rows[position] / (lengths * lengths[position])
    found = top_of_one(cosines, allowed, np.array([position]), n)
    return found, cosines[found]


@kernel
def _short_list(scores: Floats, allowed: Flags, excluded: Longs | Ints, n: int) -> Longs:
    """One pass that keeps the best so far in order; few scores ever enter."""
    hidden = np.zeros(len(scores), np.bool_)
    for k in range(len(excluded)):
        hidden[excluded[k]] = True
    found = np.empty(n, np.int64)
    count = 0
    for i in range(len(scores)):
        score = scores[i]
        if count == n and not score > scores[found[n - 1]]:
            continue
        if hidden[i] or not allowed[i] or not score > -np.inf:
            continue
        rank = min(count, n - 1)
        while rank > 0 and scores[found[rank - 1]] < score:
            found[rank] = found[rank - 1]
            rank -= 1
        found[rank] = i
        count = min(count + 1, n)
    return found[:count]
