"""Ratings set aside: a share of all pairs, told by a hash, that is evidence to nobody.

So ratings can be watched while a model learns from all others of the same graph: neither a
second graph without them is needed nor a list of them, and every process agrees on which they
are.
"""

from typing import NamedTuple

import numpy as np

from evichain.kernels import Flags, Int, Ints, Longs, kernel
from evichain.ratings.graph import Graph
from evichain.ratings.hashing import mix
from evichain.ratings.side import Side


class Holdout(NamedTuple):
    """How many of 2**32 pairs are set aside; which ones is drawn by `seed`."""

    share: int
    seed: int


NO_HOLDOUT = Holdout(0, 0)


def hold_out(fraction: float, seed: int) -> Holdout:
    """Set a fraction of all pairs aside."""
    return Holdout(int(fraction * 2**32), seed)


def are_held_out(holdout: Holdout, users: Ints, items: Ints) -> Flags:
    """Which of these pairs are set aside."""
    out = np.empty(len(users), np.bool_)
    _mark(holdout, users, items, out)
    return out


def held_out_positions(graph: Graph, holdout: Holdout) -> Longs:
    """Where the user rows of a graph hold pairs that are set aside."""
    rows = graph.rows[Side.USER]
    out = np.empty(_find(holdout, rows.indptr, rows.indices, np.empty(0, np.int64)), np.int64)
    _find(holdout, rows.indptr, rows.indices, out)
    return out


@kernel
def pair_key(side: int, entity: Int, other: Int) -> Int:
    """One number for a (user, item) pair, from whichever side it is seen."""
    return (entity << 32) | other if side == 0 else (other << 32) | entity


@kernel
def drawn(key: Int, share: int, seed: int) -> bool:
    """Whether a pair is among the `share` of 2**32 that a seed draws."""
    draw = mix(np.uint64(seed) ^ mix(np.uint64(key)))
    return bool((draw & np.uint64(0xFFFFFFFF)) < np.uint64(share))


@kernel
def _mark(holdout: Holdout, users: Ints, items: Ints, out: Flags) -> None:
    for i in range(len(users)):
        key = pair_key(0, np.int64(users[i]), np.int64(items[i]))
        out[i] = drawn(key, holdout.share, holdout.seed)


@kernel
def _find(holdout: Holdout, indptr: Longs, indices: Ints, out: Longs) -> int:
    """Write the positions into `out`, as far as there is room; return how many there are."""
    found = 0
    for user in range(len(indptr) - 1):
        for i in range(indptr[user], indptr[user + 1]):
            if drawn(
                pair_key(0, np.int64(user), np.int64(indices[i])), holdout.share, holdout.seed
            ):
                if found < len(out):
                    out[found] = i
                found += 1
    return found
