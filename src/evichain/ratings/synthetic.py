"""Synthetic ratings of any number, with a known structure: for tests of scale.

`r = clip(round(mean + b_u + c_i + p_u . q_i + noise))` in half stars. Everything is drawn by
hashes of (seed, user, item), so that any part of a set can be made alone and in any order, and
the expected rating of every pair is known, rated or not.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.errors import SettingsError
from evichain.kernels import Floats, Ints, Longs, kernel
from evichain.progress import progress as progress_bar
from evichain.ratings.hashing import Doubles, mix, normal, normals

CARD = "synthetic.json"
_PART = 1 << 22

MEAN, USER_BIAS, ITEM_BIAS, TASTE = 3.3, 0.4, 0.45, 0.6
"""What is planted: the mean of all, and the deviations of biases and of taste."""
_SPREAD = 1.2
"""Of the logarithm of the number of ratings of a user."""
_TAIL, _HEAD = 1.3, 200
"""The n-th most popular item has `1 / (n + items / _HEAD) ** _TAIL` of the ratings."""
_LARGEST_SHARE = 4
"""Nobody rates more than one item out of this many."""

LOWEST, STEP, _HIGHEST = -5.0, 0.005, 12.0

# What a draw is for: seeds of different draws must differ.
_DEGREE, _ORDER, _USER, _ITEM, _PICK, _NOISE = range(6)


@dataclass(frozen=True)
class Synthetic:
    """A set of ratings that can be made.

    Args:
        ratings: how many.
        users: how many; a hundredth of the ratings by default.
        items: how many; by default they grow with the root of the ratings.
        rank: of the planted structure.
        noise: the standard deviation of the noise in the ratings, which no model can predict.

    >>> made = Synthetic(ratings=2000, users=50, items=400, seed=1)
    >>> sum(len(part) for part in made.parts())
    2000
    """

    ratings: int
    users: int = 0
    items: int = 0
    rank: int = 4
    noise: float = 0.8
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", self.users or max(self.ratings // 100, 4))
        object.__setattr__(self, "items", self.items or max(round(8 * self.ratings**0.5), 1000))
        most = self.users * self._most
        if not self.users <= self.ratings <= most:
            raise SettingsError(
                f"{self.ratings:,} ratings by {self.users:,} users of {self.items:,} items",
                right=f"This many users and items have from {self.users:,} to {most:,} ratings.",
            )
        if max(self.users, self.items) >= 2**31 or self.rank < 0 or self.noise < 0:
            raise SettingsError(
                "cannot be made so",
                right="Fewer than 2**31 users and items; neither rank nor noise below 0.",
            )

    @property
    def _most(self) -> int:
        return max(self.items // _LARGEST_SHARE, 1)

    def _seed(self, purpose: int) -> np.uint64:
        return np.uint64(mix(np.uint64((8 * self.seed + purpose) % 2**64)))

    @cached_property
    def degrees(self) -> Longs:
        """How many ratings each user has: lognormal, up to a share of all items."""
        weights = np.exp(_SPREAD * normals(self._seed(_DEGREE), self.users, 1)[:, 0])
        degrees = np.ones(self.users, np.int64)
        while missing := self.ratings - int(degrees.sum()):
            free = np.where(degrees < self._most, weights, 0.0)
            more = (free * (missing / free.sum())).astype(np.int64)
            if not more.any():
                more[np.flatnonzero(free)[:missing]] = 1
            degrees = np.minimum(degrees + more, self._most)
        return degrees

    @cached_property
    def _picking(self) -> tuple[Doubles, Ints]:
        """The alias table that draws items by popularity, which is independent of their ids."""
        rank = np.argsort(np.argsort(normals(self._seed(_ORDER), self.items, 1)[:, 0]))
        weights = (rank + 1 + self.items / _HEAD) ** -_TAIL
        return alias_table(weights / weights.sum())

    @cached_property
    def item_traits(self) -> Doubles:
        """Bias and taste vector of each item."""
        traits = normals(self._seed(_ITEM), self.items, 1 + self.rank)
        traits[:, 0] *= ITEM_BIAS
        traits[:, 1:] *= TASTE / math.sqrt(max(self.rank, 1))
        return traits

    @cached_property
    def _outcomes(self) -> tuple[Doubles, Doubles]:
        """The mean and the variance of the rating, by its value before noise."""
        return after_rounding(self.noise)

    def parts(self) -> Iterator[pl.DataFrame]:
        """The ratings, in parts of some millions; users and items are counted from 1."""
        yield from (self._part(number)[0] for number in range(self._count))

    @property
    def _count(self) -> int:
        return -(-self.ratings // _PART)

    def _part(self, number: int) -> tuple[pl.DataFrame, float]:
        """The ratings of every n-th user, and the sum of their variances."""
        users = np.arange(number, self.users, self._count, dtype=np.int32)
        degrees = self.degrees[users]
        total = int(degrees.sum())
        owner, item = np.empty(total, np.int32), np.empty(total, np.int32)
        _pick(users, degrees, *self._picking, self._seed(_PICK), owner, item)
        truth, rating = self._truth(owner, item), np.empty(total, np.float32)
        _rate(owner, item, truth, self.noise, self._seed(_NOISE), rating)
        frame = pl.DataFrame({"user_id": owner + 1, "item_id": item + 1, "rating": rating})
        return frame, float(interpolated(self._outcomes[1], truth).sum())

    def _truth(self, users: Ints, items: Ints) -> Doubles:
        """The values of pairs before noise; users and items by index."""
        out = np.empty(len(users))
        _fill_truth(users, items, self.item_traits, self._seed(_USER), out)
        return out

    def expected(self, users: npt.ArrayLike, items: npt.ArrayLike) -> Floats:
        """The best possible prediction of each pair, given by ids as in the ratings."""
        index = (np.asarray(ids, np.int32) - np.int32(1) for ids in (users, items))
        found: Floats = interpolated(self._outcomes[0], self._truth(*index)).astype(np.float32)
        return found

    def write(self, folder: Path, *, progress: bool = False) -> dict[str, Any]:
        """Write the ratings into a folder to be made, as part-*.parquet, with a card.

        Returns the content of the card: the arguments; `floor_rmse`, the error of the best possible
        predictions; and `mean_rmse`, the error of predicting the mean.
        """
        folder.mkdir(parents=True)
        variance, total, squares = 0.0, 0.0, 0.0
        with progress_bar("Generating", self.ratings, enabled=progress, unit="ratings") as advance:
            for number in range(self._count):
                frame, found = self._part(number)
                frame.write_parquet(folder / f"part-{number:05}.parquet")
                values = frame["rating"].to_numpy().astype(np.float64)
                variance += found
                total += float(values.sum())
                squares += float(np.square(values).sum())
                advance(len(frame))
        mean = total / self.ratings
        card = asdict(self) | {
            "mean": mean,
            "mean_rmse": math.sqrt(max(squares / self.ratings - mean**2, 0.0)),
            "floor_rmse": math.sqrt(variance / self.ratings),
        }
        (folder / CARD).write_text(json.dumps(card, indent=2) + "\n")
        return card


@kernel
def _pick(
    users: Ints,
    degrees: Longs,
    chance: Doubles,
    alias: Ints,
    seed: np.uint64,
    owner: Ints,
    item: Ints,
) -> None:
    """Draw each user's items by popularity, each at most once."""
    taken = np.full(len(chance), -1, np.int32)
    position = 0
    for number in range(len(users)):
        user, key = users[number], mix(seed ^ np.uint64(users[number]))
        missing, draw = degrees[number], np.uint64(0)
        while missing:
            lot = mix(key + draw)
            draw += np.uint64(1)
            found = np.int64(((lot >> np.uint64(32)) * np.uint64(len(chance))) >> np.uint64(32))
            if np.float64(lot & np.uint64(0xFFFFFFFF)) >= chance[found] * 2.0**32:
                found = np.int64(alias[found])
            if taken[found] != user:
                taken[found] = user
                owner[position], item[position] = user, found
                position += 1
                missing -= 1


@kernel
def _truth(user: int, traits: Doubles, seed: np.uint64, own: Doubles) -> float:
    """The value of a pair before noise; `own` are the user's traits, drawn if they are new."""
    if own[0] != user:
        own[0] = user
        for i in range(len(traits)):
            own[1 + i] = normal(seed, np.uint64(user) * np.uint64(len(traits)) + np.uint64(i))
        own[1] *= USER_BIAS
    found: float = MEAN + own[1] + traits[0]
    for i in range(1, len(traits)):
        found += own[1 + i] * traits[i]
    return found


@kernel
def _fill_truth(owner: Ints, item: Ints, traits: Doubles, seed: np.uint64, out: Doubles) -> None:
    own = np.full(1 + traits.shape[1], -1.0)
    for i in range(len(owner)):
        out[i] = _truth(owner[i], traits[item[i]], seed, own)


@kernel
def _rate(
    owner: Ints, item: Ints, truth: Doubles, noise: float, seed: np.uint64, rating: Floats
) -> None:
    """Draw the ratings: values with noise, rounded to half stars."""
    for i in range(len(owner)):
        pair = (np.uint64(owner[i]) << np.uint64(32)) | np.uint64(item[i])
        value = truth[i] + noise * normal(seed, pair)
        rating[i] = min(max(np.floor(2.0 * value + 0.5) / 2.0, 0.5), 5.0)


@kernel
def interpolated(table: Doubles, values: Doubles) -> Doubles:
    """A table of `after_rounding` at these values, read between its entries."""
    out = np.empty(len(values))
    for i in range(len(values)):
        position = min(max((values[i] - LOWEST) / STEP, 0.0), len(table) - 1.001)
        low = int(position)
        out[i] = table[low] + (table[low + 1] - table[low]) * (position - low)
    return out


def after_rounding(noise: float) -> tuple[Doubles, Doubles]:
    """The mean and the variance of `clip(round(x + noise))` in half stars, for many x.

    Entry n is of `LOWEST + n * STEP`.
    """
    levels = np.arange(1, 11) / 2
    bounds = (levels[1:] + levels[:-1]) / 2
    positions = np.arange(LOWEST, _HIGHEST, STEP)
    away = (bounds - positions[:, np.newaxis]) / max(noise, 1e-9)
    below = np.vectorize(math.erf)(away / math.sqrt(2)) / 2 + 0.5
    chances = np.diff(below, axis=1, prepend=0.0, append=1.0)
    mean = chances @ levels
    return mean, np.maximum(chances @ np.square(levels) - np.square(mean), 0.0)


def alias_table(shares: Doubles) -> tuple[Doubles, Ints]:
    """Walker's tables: column n is kept with `chance[n]`, or else stands for `alias[n]`."""
    chance, alias = shares * len(shares), np.arange(len(shares), dtype=np.int32)
    _fill(chance, alias)
    return chance, alias


@kernel
def _fill(chance: Doubles, alias: Ints) -> None:
    small, large = np.empty(len(chance), np.int64), np.empty(len(chance), np.int64)
    few = many = 0
    for i in range(len(chance)):
        if chance[i] < 1.0:
            small[few] = i
            few += 1
        else:
            large[many] = i
            many += 1
    while few and many:
        few -= 1
        low, high = small[few], large[many - 1]
        alias[low] = high
        chance[high] -= 1.0 - chance[low]
        if chance[high] < 1.0:
            many -= 1
            small[few] = high
            few += 1
    for i in range(few):
        chance[small[i]] = 1.0
