"""Nets that hold what a case has seen in hidden units and tell levels of what it has not seen."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import embedding

from evichain.baselines._cases import CasePairs, Cases, smoothed_frequencies
from evichain.baselines._levels import Levels
from evichain.baselines._pairs import Pairs
from evichain.baselines._training import EpochBaseline, EpochSettings, Learner, batches
from evichain.baselines._units import dots_in_order
from evichain.kernels import Floats, Ints
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side


class CaseSettings(EpochSettings):
    """What nets over cases can be told."""

    cases: Literal["user", "item"] = "user"
    """Whose ratings are predicted from each other: those of a user, or those of an item."""
    hidden_units: int = Field(default=100, ge=1, le=8192)
    """Units in a hidden layer."""
    batch_size: int = Field(default=100, ge=1)
    """Cases in a step."""

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
        """[count, H]: the hidden units of cases that have seen this."""

    @abstractmethod
    def probabilities(self, scores: Tensor) -> Tensor:
        """[pairs, K]: those of levels, from bias and dot product of each."""


Net = TypeVar("Net", bound=CaseNet)


class CaseLearner(Learner[Net]):
    """Learns from batches of cases, and answers from all that each case has seen."""

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
        """What some cases have seen and how many they are, until all have had their turn."""
        rated = np.flatnonzero(np.diff(self.cases.ptr))
        for places in batches(len(rated), self.settings.batch_size, self.draws):
            yield self.cases.at(rated[places]), len(places)

    @torch.inference_mode()
    def settle(self, known: Pairs) -> None:
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

    def _learner(self, graph: Graph, pairs: Pairs, draws: np.random.Generator) -> CaseLearner[Any]:
        side = self.settings.side
        levels = Levels.of(graph, pairs.ratings)
        cases = Cases.of(pairs, levels, side, len(graph.ids[side]))
        frequencies = smoothed_frequencies(cases, (len(graph.ids[side.opposite]), len(levels)))
        return self._case_learner(frequencies, cases, levels, draws)
