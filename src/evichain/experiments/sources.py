"""The data of an experiment: what it is called, what the paper did with such data, its ratings."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evichain.ratings.catalogue import CATALOGUE, is_fetched, load_ratings, local_path
from evichain.ratings.table import Ratings

QUICK_RATINGS = 15_000
"""How many ratings, about, are left of a data set in a quick run."""


class Way(NamedTuple):
    """What the paper did with data of a size.

    Attributes:
        standard: REC's settings where it says nothing else.
        early: REC's settings in the comparison of the first iterations.
        pmf_batch: ratings in a step of PMF in that comparison.
    """

    standard: Mapping[str, Any]
    early: Mapping[str, Any]
    pmf_batch: int


_FULL = {"evidence_limit": 80, "max_depth": 4}
_SHALLOW = {"evidence_limit": 20, "max_depth": 2}
WAYS: Mapping[str, Way] = {
    "ml-100k": Way(_FULL, _FULL, 1000),
    "ml-1m": Way(_FULL, _SHALLOW, 5000),
    "ml-10m": Way({"evidence_limit": 40, "max_depth": 3}, _SHALLOW, 10_000),
}
"""The data sets of the paper, smallest first, and what it did with each."""

_FEWER_THAN = {"ml-100k": 500_000, "ml-1m": 5_000_000}
_SAYS_NOTHING = "ratings"
_UNPACKED = {**{name: name for name in WAYS}, "ml-10m100k": "ml-10m"}
"""What the paper's data sets are called, as files or unpacked folders."""

_FORMATS = "csv|tsv|inter|parquet|pq|ndjson|jsonl|dat|data|graph|zip"
_ENDING = re.compile(rf"(\.({_FORMATS}))?(\.(gz|zst))?$", re.IGNORECASE)


def default_data(*, quick: bool) -> list[str]:
    """The paper's data sets that can be had: the largest only where it is there already."""
    if quick:
        return ["ml-100k"]
    return [name for name in WAYS if name != "ml-10m" or is_fetched(name)]


@dataclass(frozen=True)
class Source:
    """A data set, as it was asked for.

    >>> Source("mine/ratings.csv").label, Source("ml-10M100K").paper_name
    ('mine', 'ml-10m')
    """

    data: str
    quick: bool = False

    @property
    def label(self) -> str:
        """What it is called in tables: its name, or that of its file or folder."""
        path = Path(self.data)
        name = path.parent.name if path.stem == _SAYS_NOTHING else path.name
        return _ENDING.sub("", name, count=1) or self.data

    @property
    def paper_name(self) -> str | None:
        """Which of the paper's data sets it is, by its whole name; None for any other."""
        return _UNPACKED.get(self.label.lower())

    @cached_property
    def like(self) -> str:
        """Which of the paper's data sets it is, or which is of such a size."""
        if self.paper_name is not None:
            return self.paper_name
        known = CATALOGUE.get(self.data)
        count = known.ratings if known else len(self.ratings())
        return next((name for name, most in _FEWER_THAN.items() if count < most), "ml-10m")

    @property
    def way(self) -> Way:
        """What the paper did with data of this size."""
        return WAYS[self.like]

    @property
    def identity(self) -> str:
        """Tells this data from any other, whatever its name."""
        return _digest(self.data)

    def ratings(self) -> Ratings:
        """All ratings; in a quick run those of so many users that few are left."""
        return _loaded(self.data, self.quick)

    def part(self, share: float) -> Ratings:
        """The ratings of a share of the users, drawn at random."""
        return _of_some_users(self.ratings(), share)


@lru_cache(maxsize=1)
def _loaded(data: str, quick: bool) -> Ratings:
    ratings = load_ratings(data)
    return _of_some_users(ratings, QUICK_RATINGS / len(ratings)) if quick else ratings


def _of_some_users(ratings: Ratings, share: float) -> Ratings:
    if share >= 1:
        return ratings
    users = ratings.frame["user_id"].unique().sort()
    count = max(1, round(len(users) * share))
    drawn = np.random.default_rng(0).choice(len(users), count, replace=False)
    kept = users.gather(np.sort(drawn))
    mask = ratings.frame.select(pl.col("user_id").is_in(kept.implode())).to_series()
    return ratings.take(mask)


@lru_cache(maxsize=16)
def _digest(data: str) -> str:
    digest = blake2b(digest_size=8)
    for path in _files(local_path(data)):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            digest.update(file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from sorted(part for part in path.rglob("*") if part.is_file())
