"""Hashes from which every draw is made: pure, fast, the same on every machine."""

import numpy as np

from evichain.kernels import kernel

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
