"""The data of an experiment, and what the paper reports and sets for such data."""

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
"""Roughly how many ratings a quick run keeps of a data set."""


class PaperSettings(NamedTuple):
    """The settings of the paper for data of one size.

    Attributes:
        standard: REC's settings unless stated otherwise.
        early: REC's settings in the comparison of the first iterations.
        pmf_batch: batch size of PMF in that comparison.
    """

    standard: Mapping[str, Any]
    early: Mapping[str, Any]
    pmf_batch: int


_FULL = {"evidence_limit": 80, "max_depth": 4}
_SHALLOW = {"evidence_limit": 20, "max_depth": 2}
PAPER_SETTINGS: Mapping[str, PaperSettings] = {
    "ml-100k": PaperSettings(_FULL, _FULL, 1000),
    "ml-1m": PaperSettings(_FULL, _SHALLOW, 5000),
    "ml-10m": PaperSettings({"evidence_limit": 40, "max_depth": 3}, _SHALLOW, 10_000),
}
"""The data sets of the paper, smallest first, with its settings for each."""

PAPER_RMSE: Mapping[tuple[str, str], float] = {
    ("ml-100k", "random:0.8"): 0.910,
    ("ml-1m", "random:0.8"): 0.882,
    ("ml-10m", "random:0.8"): 0.846,
}
"""REC's test RMSE in the paper, by data set and split."""

_FEWER_THAN = {"ml-100k": 500_000, "ml-1m": 5_000_000}
_GENERIC_STEM = "ratings"
_UNPACKED = {**{name: name for name in PAPER_SETTINGS}, "ml-10m100k": "ml-10m"}
"""Names of the paper's data sets as files or unpacked folders."""

_FORMATS = "csv|tsv|inter|parquet|pq|ndjson|jsonl|dat|data|graph|zip"
_ENDING = re.compile(rf"(\.({_FORMATS}))?(\.(gz|zst))?$", re.IGNORECASE)


def default_data(*, quick: bool) -> list[str]:
    """The paper's data sets; the largest only if it has been downloaded."""
    if quick:
        return ["ml-100k"]
    return [name for name in PAPER_SETTINGS if name != "ml-10m" or is_fetched(name)]


@dataclass(frozen=True)
class Source:
    """A data set, by the name or path that was given.

    >>> Source("mine/ratings.csv").label, Source("ml-10M100K").paper_name
    ('mine', 'ml-10m')
    """

    data: str
    quick: bool = False

    @property
    def label(self) -> str:
        """Its name in tables: of the data set, or of its file or folder."""
        path = Path(self.data)
        name = path.parent.name if path.stem == _GENERIC_STEM else path.name
        return _ENDING.sub("", name, count=1) or self.data

    @property
    def paper_name(self) -> str | None:
        """Which of the paper's data sets it is, by its whole name; None for any other."""
        return _UNPACKED.get(self.label.lower())

    @cached_property
    def nearest_paper_name(self) -> str:
        """Which of the paper's data sets it is, or else which is nearest in size."""
        if self.paper_name is not None:
            return self.paper_name
        known = CATALOGUE.get(self.data)
        count = known.ratings if known else len(self.ratings())
        return next((name for name, most in _FEWER_THAN.items() if count < most), "ml-10m")

    @property
    def paper_settings(self) -> PaperSettings:
        """The paper's settings for data of this size."""
        return PAPER_SETTINGS[self.nearest_paper_name]

    @property
    def identity(self) -> str:
        """A digest of the data, independent of its name."""
        return _digest(self.data)

    def ratings(self) -> Ratings:
        """All ratings; in a quick run those of a sample of users."""
        return _loaded(self.data, self.quick)

    def part(self, share: float) -> Ratings:
        """The ratings of a share of the users, drawn at random."""
        return _sample_of_users(self.ratings(), share)


@lru_cache(maxsize=1)
def _loaded(data: str, quick: bool) -> Ratings:
    ratings = load_ratings(data)
    return _sample_of_users(ratings, QUICK_RATINGS / len(ratings)) if quick else ratings


def _sample_of_users(ratings: Ratings, share: float) -> Ratings:
    if share >= 1:
        return ratings
    users = ratings.frame["user_id"].unique().sort()
    count = max(1, round(len(users) * share))
    drawn = np.random.default_rng(0).choice(len(users), count, replace=False)
    return of_users(ratings, users.gather(np.sort(drawn)))


def of_users(ratings: Ratings, users: pl.Series) -> Ratings:
    """The ratings of some users."""
    return ratings.take(ratings.frame.select(pl.col("user_id").is_in(users.implode())).to_series())


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
