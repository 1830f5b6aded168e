"""Ratings as cases: what each user has rated, or by whom each item was rated, and at what level."""

from dataclasses import dataclass

import numpy as np

from evichain.baselines._levels import Levels
from evichain.baselines._pairs import Pairs
from evichain.kernels import Flags, Floats, Ints, Longs
from evichain.ratings.side import Side


@dataclass(frozen=True)
class CasePairs:
    """What some cases see: which of these cases, which unit, at which level."""

    cases: Ints
    units: Ints
    codes: Longs

    def where(self, chosen: Flags) -> "CasePairs":
        """Some of these pairs."""
        return CasePairs(self.cases[chosen], self.units[chosen], self.codes[chosen])


@dataclass(frozen=True)
class Cases:
    """The ratings of a side, case by case; those of case c are `ptr[c]` to `ptr[c + 1]`."""

    ptr: Longs
    units: Ints
    codes: Longs

    @classmethod
    def of(cls, pairs: Pairs, levels: Levels, side: Side, count: int) -> "Cases":
        """The cases of a side that has `count` entities."""
        own = pairs.of(side)
        order = np.argsort(own, kind="stable")
        ptr = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(own, minlength=count), out=ptr[1:])
        codes = levels.codes(pairs.ratings[order])
        return cls(ptr, pairs.of(side.opposite)[order], codes)

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def at(self, chosen: Longs) -> CasePairs:
        """What these cases see; they are counted from 0 in the order given."""
        counts = self.ptr[chosen + 1] - self.ptr[chosen]
        cases = np.repeat(np.arange(len(chosen), dtype=np.int32), counts)
        skipped = np.repeat(self.ptr[chosen] - (np.cumsum(counts) - counts), counts)
        places = skipped + np.arange(len(cases))
        return CasePairs(cases, self.units[places], self.codes[places])


def smoothed_frequencies(cases: Cases, shape: tuple[int, int]) -> Floats:
    """[units, K]: how often each unit is seen at each level, as if it were seen twice more."""
    places = cases.units.astype(np.int64) * shape[1] + cases.codes
    counts = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)
    overall = (counts.sum(axis=0) + 1) / (counts.sum() + shape[1])
    found: Floats = ((counts + 2 * overall) / (counts.sum(axis=1, keepdims=True) + 2)).astype(
        np.float32
    )
    return found
