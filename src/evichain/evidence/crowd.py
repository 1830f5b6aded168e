"""The crowd of a step: so many users and items, drawn anew, who may be evidence in it.

The evidence of a batch leads to ever more entities as data grows, each of which has to be
generated. When only a crowd is asked, a step costs the same however many there are, and what
each piece of evidence says is what it would say otherwise.
"""

from typing import NamedTuple

import numpy as np

from evichain.kernels import Int, kernel
from evichain.ratings.hashing import mix

_ALL = 2**32


class Crowd(NamedTuple):
    """How many of 2**32 users, and of items, belong to it; which ones is drawn by `seed`."""

    users: int
    items: int
    seed: int


EVERYONE = Crowd(_ALL, _ALL, 0)


def draw_crowd(users: int, items: int, size: int, seed: int) -> Crowd:
    """A crowd of about `size` of so many users, and as many items; everyone for 0.

    >>> draw_crowd(50_000, 10_000, 20_000, seed=1).users / 2**32
    0.39999999990686774
    """
    if not size:
        return EVERYONE
    shares = (int(_ALL * min(1.0, size / max(count, 1))) for count in (users, items))
    return Crowd(*shares, seed)


@kernel
def belongs(crowd: Crowd, side: int, entity: Int) -> bool:
    """Whether an entity of a side is in the crowd."""
    share = crowd.users if side == 0 else crowd.items
    if share == _ALL:
        return True
    draw = mix(np.uint64(crowd.seed) ^ mix(np.uint64(2 * entity + side)))
    return (draw & np.uint64(0xFFFFFFFF)) < np.uint64(share)
