"""Batches of ratings: each pass over the data has its own order, and any step is found directly.

The order is a permutation computed from (seed, pass) and never stored. So a step costs the same
for any number of ratings, and a resumed run needs no state except its step number.
"""

import numpy as np

from evichain.kernels import Longs, kernel
from evichain.ratings.hashing import mix

_ROUNDS = 4


def batch_positions(
    count: int, batch_size: int, seed: int, step: int, ratings_per_user: int = 1
) -> Longs:
    """The positions of a step's ratings among `count`.

    Args:
        ratings_per_user: how many adjacent ratings stay together.

    >>> passes = [batch_positions(6, 4, seed=1, step=step) for step in range(3)]
    >>> sorted(np.concatenate(passes).tolist())
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    >>> sorted(batch_positions(8, 4, seed=1, step=0, ratings_per_user=2).tolist())
    [0, 1, 6, 7]
    """
    size = min(batch_size, count)
    ratings_per_user = min(ratings_per_user, size)
    out = np.empty(size // ratings_per_user, np.int64)
    runs = -(-count // ratings_per_user)
    _permuted(step * len(out), runs, np.uint64(seed), out)
    found: Longs = (out[:, np.newaxis] * ratings_per_user + np.arange(ratings_per_user)).ravel()
    # The last run may be shorter.
    return found[found < count]


@kernel
def _permuted(first: int, count: int, seed: np.uint64, out: Longs) -> None:
    """A Feistel network over the smallest even number of bits, walked until inside `count`."""
    half = 1
    while (1 << (2 * half)) < count:
        half += 1
    mask = np.uint64((1 << half) - 1)
    bits = np.uint64(half)
    for i in range(len(out)):
        epoch, position = (first + i) // count, np.uint64((first + i) % count)
        key = mix(seed ^ mix(np.uint64(epoch)))
        while True:
            left, right = position >> bits, position & mask
            for turn in range(_ROUNDS):
                left, right = right, left ^ (mix(right ^ mix(key + np.uint64(turn))) & mask)
            position = (left << bits) | right
            if position < np.uint64(count):
                break
        out[i] = np.int64(position)
