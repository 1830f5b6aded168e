"""Draws that made-up ratings are made of: normal numbers by hash, and items by popularity."""

import math

import numpy as np
import numpy.typing as npt

from evichain.kernels import Ints, kernel
from evichain.ratings.hashing import mix

Doubles = npt.NDArray[np.float64]

LOWEST, STEP, _HIGHEST = -5.0, 0.005, 12.0


@kernel
def normal(seed: np.uint64, number: np.uint64) -> float:
    """The standard normal draw of a number (Box and Muller)."""
    first = mix(seed ^ mix(number))
    second = mix(first)
    # 53 bits, never 0.
    radius = (np.float64(first >> np.uint64(11)) + 0.5) * 2.0**-53
    angle = np.float64(second >> np.uint64(11)) * 2.0**-53
    return math.sqrt(-2.0 * math.log(radius)) * math.cos(2.0 * math.pi * angle)


@kernel
def normals(seed: np.uint64, rows: int, columns: int) -> Doubles:
    """A table of standard normal draws."""
    out = np.empty((rows, columns))
    for row in range(rows):
        for column in range(columns):
            number = np.uint64(row) * np.uint64(columns) + np.uint64(column)
            out[row, column] = normal(seed, number)
    return out


@kernel
def at(table: Doubles, values: Doubles) -> Doubles:
    """A table of `after_rounding` at these values, read between its entries."""
    out = np.empty(len(values))
    for i in range(len(values)):
        place = min(max((values[i] - LOWEST) / STEP, 0.0), len(table) - 1.001)
        low = int(place)
        out[i] = table[low] + (table[low + 1] - table[low]) * (place - low)
    return out


def after_rounding(noise: float) -> tuple[Doubles, Doubles]:
    """The mean and the variance of `clip(round(x + noise))` in half stars, for many x.

    Entry n is of `LOWEST + n * STEP`.
    """
    levels = np.arange(1, 11) / 2
    bounds = (levels[1:] + levels[:-1]) / 2
    places = np.arange(LOWEST, _HIGHEST, STEP)
    away = (bounds - places[:, np.newaxis]) / max(noise, 1e-9)
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
