"""The entity sample of a step: the users and items that may be evidence in it.

As data grows, the evidence of a batch leads to ever more entities, and each has to be generated.
With a sample of fixed size, the number generated at each depth is bounded. An entity then has
less evidence in training than in use.
"""

from typing import NamedTuple

import numpy as np

from evichain.evidence.pool import Pool
from evichain.kernels import Flags, Int, kernel
from evichain.ratings.hashing import mix
from evichain.ratings.side import Side

_ALL: Flags = np.empty(0, np.bool_)


class EntitySample(NamedTuple):
    """Flags by index: which users and items are in the sample; an empty array stands for all.

    Flags are stored because they are read once for every rating considered.
    """

    users: Flags
    items: Flags


EVERYONE = EntitySample(_ALL, _ALL)


def draw_entity_sample(pool: Pool, size: int, seed: int) -> EntitySample:
    """Draw about `size` users and as many items; prototypes are always included. 0 for all."""
    users, items = (_drawn_of(pool, side, size, seed) for side in Side)
    return EntitySample(users, items)


def _drawn_of(pool: Pool, side: Side, size: int, seed: int) -> Flags:
    count = len(pool.graph.ids[side])
    if not size or count <= size:
        return _ALL
    found = pool.sides[side].slot >= 0
    _draw(int(side), int(2**32 * size / count), np.uint64(seed), found)
    return found


@kernel
def _draw(side: int, share: int, seed: np.uint64, out: Flags) -> None:
    """Flag the entities drawn: about `share` of 2**32."""
    for entity in range(len(out)):
        draw = mix(seed ^ mix(np.uint64(2 * entity + side)))
        if (draw & np.uint64(0xFFFFFFFF)) < np.uint64(share):
            out[entity] = True


@kernel
def belongs(entity_sample: EntitySample, side: int, entity: Int) -> bool:
    """Whether an entity of a side is in the sample."""
    flags = entity_sample.users if side == 0 else entity_sample.items
    return len(flags) == 0 or bool(flags[entity])
