"""The planted blocks, with two ratings for what users like: 4 and 5, and 1 for all else."""

import polars as pl

from evichain import Ratings
from evichain.testing import planted_blocks

LIKED = 4.0
"""The lowest rating of an item of the user's own block."""


def liked_blocks(users: int = 60, items: int = 40, blocks: int = 2) -> Ratings:
    """As `planted_blocks`; about a fourth of the ratings of 5 are 4."""
    ratings = planted_blocks(users, items, blocks)
    lower = (pl.col("rating") == 5) & ((pl.col("user_id") + pl.col("item_id") // 4) % 4 == 0)
    found = pl.when(lower).then(LIKED).otherwise(pl.col("rating")).cast(pl.Float32)
    return Ratings(ratings.frame.with_columns(rating=found), name=ratings.name)


def only_liked(ratings: Ratings) -> Ratings:
    """The ratings of what users like."""
    return ratings.take(ratings.frame["rating"] >= LIKED)
