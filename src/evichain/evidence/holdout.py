"""Held-out ratings: a share of all pairs, found by a hash, that is never evidence.

So a model can be validated on ratings of the graph that it is trained on. Neither a second graph
nor a list of pairs is needed, and all processes agree on the pairs.
"""

from typing import NamedTuple

import numpy as np

from evichain.kernels import Flags, Int, Ints, Longs, kernel
from evichain.ratings.graph import Graph
from evichain.ratings.hashing import mix
from evichain.ratings.side import Side


class Holdout(NamedTuple):
    """How many of 2**32 pairs are held out; `seed` draws which."""

    share: int
    seed: int


NO_HOLDOUT = Holdout(0, 0)


def hold_out(fraction: float, seed: int) -> Holdout:
    """Hold out a fraction of all pairs."""
    return Holdout(int(fraction * 2**32), seed)


def are_held_out(holdout: Holdout, users: Ints, items: Ints) -> Flags:
    """Which of these pairs are held out."""
    out = np.empty(len(users), np.bool_)
    _mark(holdout, users, items, out)
    return out


def held_out_positions(graph: Graph, holdout: Holdout) -> Longs:
    """The positions of held-out pairs in the user rows of a graph."""
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
    """Write the positions into `out`, as far as it has room; return how many there are."""
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
