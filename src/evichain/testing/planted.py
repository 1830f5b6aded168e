"""A toy set with known right answers: blocks of users who like their block of items only."""

import numpy as np
import numpy.typing as npt

from evichain.ratings.table import Ratings

HIGH, LOW = 5.0, 1.0


def planted_blocks(
    users: int = 60,
    items: int = 40,
    blocks: int = 2,
    density: float = 0.6,
    seed: int = 0,
    noise: float = 0.0,
) -> Ratings:
    """Ratings of which every missing one is known: `planted_rating` returns it.

    User u and item i are integers from 0, in the blocks `u % blocks` and `i % blocks`. Users rate
    the items of their own block 5 and all others 1. Neither a user's nor an item's mean shows
    them apart, so that only a model that sees who agrees with whom gets them right.

    Args:
        density: the share of all pairs that is rated; everybody rates, and everything is rated.
        seed: which pairs are rated, and in what order they come.
        noise: the share of ratings that are wrong, 5 for 1 or 1 for 5.

    >>> planted_blocks(4, 4, density=1.0).frame.sort("user_id", "item_id")["rating"].to_list()[:4]
    [5.0, 1.0, 5.0, 1.0]
    """
    random = np.random.default_rng(seed)
    rated = random.random((users, items)) < density
    rated[np.arange(users), random.integers(items, size=users)] = True
    rated[random.integers(users, size=items), np.arange(items)] = True
    user, item = random.permutation(np.argwhere(rated)).T
    truth = planted_rating(user, item, blocks)
    wrong = random.random(len(truth)) < noise
    ratings = np.where(wrong, HIGH + LOW - truth, truth)
    return Ratings.from_arrays(user, item, ratings, name="planted blocks")


def planted_rating(
    users: npt.ArrayLike, items: npt.ArrayLike, blocks: int = 2
) -> npt.NDArray[np.float64]:
    """The ratings of users and items in `planted_blocks`, without noise.

    >>> planted_rating([0, 0, 3], [2, 3, 5]).tolist()
    [5.0, 1.0, 5.0]
    """
    same = np.asarray(users) % blocks == np.asarray(items) % blocks
    return np.where(same, HIGH, LOW)
