"""Hashes that replace random generators: pure, fast, the same on every machine."""

import math

import numpy as np
import numpy.typing as npt

from evichain.kernels import kernel

Doubles = npt.NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@kernel
def mix(value: np.uint64) -> np.uint64:
    """Spread the bits of a 64-bit number (the finalizer of SplitMix64)."""
    value = np.uint64(value) + _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@kernel
def pair_hash(side: int, key: np.uint64, other: np.uint64) -> np.uint64:
    """The place of `other` in the row of `key`; a different one in the opposite row."""
    return mix(mix(np.uint64(key) + np.uint64(side)) ^ np.uint64(other))


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
