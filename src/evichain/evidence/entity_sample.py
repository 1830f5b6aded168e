"""The crowd of a step: so many users and items, drawn anew, who may be evidence in it.

The evidence of a batch leads to ever more entities as data grows, each of which has to be
generated. When only a crowd is asked, no more than that are generated at each depth, however
many there are; an entity then has less evidence in training than it has in use.
"""

from typing import NamedTuple

import numpy as np

from evichain.evidence.pool import Pool
from evichain.kernels import Flags, Int, kernel
from evichain.ratings.hashing import mix
from evichain.ratings.side import Side

_ALL: Flags = np.empty(0, np.bool_)


class EntitySample(NamedTuple):
    """Which users and which items belong to it, by index; all of a side where none is told.

    Flags rather than a rule, since every rating that is looked at asks for one.
    """

    users: Flags
    items: Flags


EVERYONE = EntitySample(_ALL, _ALL)


def draw_entity_sample(pool: Pool, size: int, seed: int) -> EntitySample:
    """A crowd of about `size` users, and as many items, beside the prototypes; everyone for 0."""
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
    """Note who is drawn: about `share` of 2**32."""
    for entity in range(len(out)):
        draw = mix(seed ^ mix(np.uint64(2 * entity + side)))
        if (draw & np.uint64(0xFFFFFFFF)) < np.uint64(share):
            out[entity] = True


@kernel
def belongs(entity_sample: EntitySample, side: int, entity: Int) -> bool:
    """Whether an entity of a side is in the crowd."""
    flags = entity_sample.users if side == 0 else entity_sample.items
    return len(flags) == 0 or bool(flags[entity])
