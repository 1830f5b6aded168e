"""Lists for many users: the best items of each, some users at a time to bound the memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evichain.kernels import Floats, Ints, Longs
from evichain.model.inference import HeadOutput
from evichain.ranking import NOTHING, Pairs, best_items, of_users

_SCORES = 1 << 22
"""How many scores are held at a time."""


@dataclass(frozen=True)
class Listed:
    """Rows of lists, user by user and the best first.

    Attributes:
        asked: how many users they are of, those without a list too.
        users, items: by their places among those asked for.
        ranks: from 1.
        scores: what they are ranked by; as estimates, they have yet to be cut to the scale.
        deviations: how far each rating is expected to be off; None when that is not known.
    """

    asked: int
    users: Longs
    ranks: Ints
    items: Longs
    scores: Floats
    stds: Floats | None


def lists(users: HeadOutput, items: HeadOutput, seen: Pairs, n: int) -> Iterator[Listed]:
    """The n items with the highest scores for each user of whom something can be said.

    At least one portion, of nobody if there is nobody.

    Args:
        seen: what is in no list, sorted by user.
    """
    step = max(1, _SCORES // max(1, len(items.has_embedding)))
    for start in range(0, max(1, len(users.has_embedding)), step):
        part = slice(start, min(start + step, len(users.has_embedding)))
        has_embedding = users.answerable[part], items.has_embedding
        found = best_items(
            users.vectors[part], items.vectors, has_embedding, of_users(seen, part), n
        )
        user, place = np.nonzero(found != NOTHING)
        item, user = found[user, place], user + start
        stds = None
        if users.log_stds is not None and items.log_stds is not None:
            stds = np.exp(users.log_stds[user] + items.log_stds[item])
        yield Listed(
            asked=part.stop - part.start,
            users=user,
            ranks=(place + 1).astype(np.int32),
            items=item,
            scores=np.einsum("ij,ij->i", users.vectors[user], items.vectors[item]),
            stds=stds,
        )
