"""Lists for many users at once, in batches that bound the memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evichain.answering.ranking import NO_ITEM, Pairs, pairs_of, top
from evichain.kernels import Floats, Ints, Longs
from evichain.model.inference import HeadOutput

_SCORES = 1 << 22
"""How many scores are held in memory at a time."""


@dataclass(frozen=True)
class ListRows:
    """Rows of lists, user by user, best first.

    Attributes:
        asked: how many users the batch has, including those without a list.
        users, items: rows of the users and items asked for.
        ranks: from 1.
        estimates: before they are clipped to the scale.
        stds: the standard deviation of each rating; None when the model has none.
    """

    asked: int
    users: Longs
    ranks: Ints
    items: Longs
    estimates: Floats
    stds: Floats | None


def lists(
    users: HeadOutput, items: HeadOutput, seen: Pairs, n: int, caution: float = 0.0
) -> Iterator[ListRows]:
    """The n best items for each user that the model can say something about.

    Yields at least one batch, an empty one if there are no users.

    Args:
        seen: (user, item) pairs to leave out, sorted by user.
        caution: rank by the estimate minus this many standard deviations.
    """
    step = max(1, _SCORES // max(1, len(items.has_embedding)))
    for start in range(0, max(1, len(users.has_embedding)), step):
        part = slice(start, min(start + step, len(users.has_embedding)))
        scores = users.vectors[part] @ items.vectors.T
        if caution and users.log_stds is not None and items.log_stds is not None:
            scores -= np.float32(caution) * np.exp(users.log_stds[part, None] + items.log_stds)
        scores[~users.answerable[part]] = -np.inf
        scores[:, ~items.has_embedding] = -np.inf
        scores[pairs_of(seen, part)] = -np.inf
        found = top(scores, n)
        user, rank = np.nonzero(found != NO_ITEM)
        item, user = found[user, rank], user + start
        stds = None
        if users.log_stds is not None and items.log_stds is not None:
            stds = np.exp(users.log_stds[user] + items.log_stds[item])
        yield ListRows(
            asked=part.stop - part.start,
            users=user,
            ranks=(rank + 1).astype(np.int32),
            items=item,
            estimates=np.einsum("ij,ij->i", users.vectors[user], items.vectors[item]),
            stds=stds,
        )
