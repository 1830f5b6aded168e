"""Autoencoder-like nets over cases: from the known ratings of a case to its unknown ones.

A case is a user with the items that the user has rated, or an item with its users; the units of a
case are the entities of the other side. CF-NADE and the RBM are such nets.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import embedding

from evichain.baselines._levels import Levels
from evichain.baselines._rated_pairs import RatedPairs
from evichain.baselines._training import EpochBaseline, EpochSettings, Learner, batches
from evichain.baselines._units import dots_in_order
from evichain.kernels import Flags, Floats, Ints, Longs
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side


@dataclass(frozen=True)
class CasePairs:
    """The ratings of some cases: the case, the unit and the code of the level."""

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
    def of(cls, pairs: RatedPairs, levels: Levels, side: Side, count: int) -> "Cases":
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
        """The ratings of these cases, numbered from 0 in the order given."""
        counts = self.ptr[chosen + 1] - self.ptr[chosen]
        cases = np.repeat(np.arange(len(chosen), dtype=np.int32), counts)
        skipped = np.repeat(self.ptr[chosen] - (np.cumsum(counts) - counts), counts)
        indices = skipped + np.arange(len(cases))
        return CasePairs(cases, self.units[indices], self.codes[indices])


def smoothed_frequencies(cases: Cases, shape: tuple[int, int]) -> Floats:
    """[units, K]: level frequencies of each unit, smoothed by two ratings of average level."""
    indices = cases.units.astype(np.int64) * shape[1] + cases.codes
    counts = np.bincount(indices, minlength=shape[0] * shape[1]).reshape(shape)
    overall = (counts.sum(axis=0) + 1) / (counts.sum() + shape[1])
    found: Floats = ((counts + 2 * overall) / (counts.sum(axis=1, keepdims=True) + 2)).astype(
        np.float32
    )
    return found


class CaseSettings(EpochSettings):
    """Settings of nets over cases."""

    cases: Literal["user", "item"] = "user"
    """Whose ratings are predicted from each other: those of a user, or those of an item."""
    hidden_units: int = Field(default=100, ge=1, le=8192)
    """Units in a hidden layer."""
    batch_size: int = Field(default=100, ge=1)
    """Cases per step."""

    @property
    def side(self) -> Side:
        """The side of the cases; units are of the other."""
        return Side[self.cases.upper()]


class CaseNet(nn.Module, ABC):
    """A net over cases.

    Attributes:
        outward: [units, K, H], from hidden units to levels.
        bias: [units, K], of the levels.
    """

    outward: nn.Parameter
    bias: nn.Parameter

    @abstractmethod
    def hidden(self, known: CasePairs, count: int) -> Tensor:
        """[count, H]: the hidden units of `count` cases with these ratings."""

    @abstractmethod
    def probabilities(self, scores: Tensor) -> Tensor:
        """[pairs, K]: those of levels, from bias and dot product of each."""


Net = TypeVar("Net", bound=CaseNet)


class CaseLearner(Learner[Net]):
    """Learns from batches of cases, and predicts from all known ratings of each case."""

    def __init__(
        self,
        net: Net,
        cases: Cases,
        levels: Levels,
        settings: CaseSettings,
        draws: np.random.Generator,
    ) -> None:
        super().__init__(net)
        self.cases, self.levels, self.settings, self.draws = cases, levels, settings, draws
        self._hidden = torch.empty(0)

    def batches(self) -> Iterator[tuple[CasePairs, int]]:
        """The ratings of a batch of cases and their number; one pass over all cases."""
        rated = np.flatnonzero(np.diff(self.cases.ptr))
        for indices in batches(len(rated), self.settings.batch_size, self.draws):
            yield self.cases.at(rated[indices]), len(indices)

    @torch.inference_mode()
    def prepare(self, known: RatedPairs) -> None:
        cases = Cases.of(known, self.levels, self.settings.side, len(self.cases))
        self._hidden = self.result.hidden(cases.at(np.arange(len(cases))), len(cases))

    @torch.inference_mode()
    def scores(self, users: Ints, items: Ints) -> Floats:
        pair, net = (users, items), self.result
        cases, units = (pair[side] for side in (self.settings.side, self.settings.side.opposite))
        scores = dots_in_order(self._hidden, net.outward, cases, units)
        scores += embedding(torch.from_numpy(units), net.bias)
        expected = net.probabilities(scores) @ torch.from_numpy(self.levels.values)
        found: Floats = expected.numpy()
        return found


Chosen = TypeVar("Chosen", bound=CaseSettings)


class CaseBaseline(EpochBaseline[Chosen]):
    """A baseline that is a net over cases."""

    @abstractmethod
    def _case_learner(
        self, frequencies: Floats, cases: Cases, levels: Levels, draws: np.random.Generator
    ) -> CaseLearner[Any]:
        """The learner of these cases; `frequencies` of levels are [units, K]."""

    def _learner(
        self, graph: Graph, pairs: RatedPairs, draws: np.random.Generator
    ) -> CaseLearner[Any]:
        side = self.settings.side
        levels = Levels.of(graph, pairs.ratings)
        cases = Cases.of(pairs, levels, side, len(graph.ids[side]))
        frequencies = smoothed_frequencies(cases, (len(graph.ids[side.opposite]), len(levels)))
        return self._case_learner(frequencies, cases, levels, draws)
