"""Ratings: read, validated, catalogued, split, and laid out as a graph."""

from evichain.ratings.catalogue import (
    CATALOGUE,
    Dataset,
    cache_folder,
    fetch,
    is_fetched,
    load_ratings,
)
from evichain.ratings.reading import ReadOptions, read_pairs, read_ratings
from evichain.ratings.side import Side
from evichain.ratings.split_spec import load_split
from evichain.ratings.splits import (
    Split,
    cold_split,
    cold_start,
    given_split,
    growth,
    growth_split,
    kfold,
    leave_last_out,
    random_split,
    time_split,
    user_split,
)
from evichain.ratings.table import Ratings

__all__ = [
    "CATALOGUE",
    "Dataset",
    "Ratings",
    "ReadOptions",
    "Side",
    "Split",
    "cache_folder",
    "cold_split",
    "cold_start",
    "fetch",
    "given_split",
    "growth",
    "growth_split",
    "is_fetched",
    "kfold",
    "leave_last_out",
    "load_ratings",
    "load_split",
    "random_split",
    "read_pairs",
    "read_ratings",
    "time_split",
    "user_split",
]
