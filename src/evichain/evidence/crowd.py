"""The crowd of a step: so many users and items, drawn anew, who may be evidence in it.

The evidence of a batch leads to ever more entities as data grows, each of which has to be
generated. When only a crowd is asked, no more than that are generated at each depth, however
many there are; an entity then has less evidence in training than it has in use.
"""

from typing import NamedTuple

import numpy as np

from evichain.kernels import Int, kernel
from evichain.ratings.graph import Graph
from evichain.ratings.hashing import mix

_ALL = 2**32


class Crowd(NamedTuple):
    """How many of 2**32 users, and of items, belong to it; which ones is drawn by `seed`."""

    users: int
    items: int
    seed: int


EVERYONE = Crowd(_ALL, _ALL, 0)


def draw_crowd(graph: Graph, size: int, seed: int) -> Crowd:
    """A crowd of about `size` users, and as many items; everyone for 0."""
    if not size:
        return EVERYONE
    users, items = (int(_ALL * min(1.0, size / max(len(ids), 1))) for ids in graph.ids)
    return Crowd(users, items, seed)


@kernel
def belongs(crowd: Crowd, side: int, entity: Int) -> bool:
    """Whether an entity of a side is in the crowd."""
    share = crowd.users if side == 0 else crowd.items
    if share == _ALL:
        return True
    draw = mix(np.uint64(crowd.seed) ^ mix(np.uint64(2 * entity + side)))
    return bool((draw & np.uint64(0xFFFFFFFF)) < np.uint64(share))
