"""CF-NADE: the ratings of an item, each predicted from those before it in a random order."""

from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import embedding, one_hot

from evichain.baselines._case_nets import (
    CaseBaseline,
    CaseLearner,
    CaseNet,
    CasePairs,
    Cases,
    CaseSettings,
)
from evichain.baselines._levels import Levels
from evichain.baselines._units import dots, gathered, seen, up_to
from evichain.kernels import Flags, Floats, Ints, Longs


class CFNADESettings(CaseSettings):
    """The settings of `CFNADE`."""

    cases: Literal["user", "item"] = "item"
    """Whose ratings are predicted from each other: those of a user, or those of an item."""
    hidden_units: int = Field(default=500, ge=1, le=8192)
    """Units in a hidden layer."""
    hidden_layers: int = Field(default=1, ge=1, le=8)
    """Hidden layers."""
    ordinal: float = Field(default=1.0, ge=0, le=1)
    """The weight of the ordinal cost; the rest is the weight of the plain likelihood."""
    batch_size: int = Field(default=512, ge=1)
    """Cases per step."""
    weight_decay: float = Field(default=0.015, ge=0)
    """The weight of the squared norm of all weights beside the cost of a case."""
    averaging: float = Field(default=0.995, ge=0, lt=1)
    """Decay of the running average of weights; 0 for no average."""


class CFNADENet(CaseNet):
    """The parameters, and the scores of levels given the ratings seen before."""

    def __init__(self, frequencies: Floats, settings: CFNADESettings) -> None:
        super().__init__()
        shape = *frequencies.shape, settings.hidden_units
        edge = (6 / (shape[0] + shape[2])) ** 0.5
        self.inward = nn.Parameter(torch.empty(shape).uniform_(-edge, edge))
        self.outward = nn.Parameter(torch.empty(shape).uniform_(-edge, edge))
        self.hidden_bias = nn.Parameter(torch.zeros(shape[2]))
        # Its sums up to each level are then the logarithms of how often that was given.
        steps = np.diff(np.log(frequencies), axis=1, prepend=np.float32(0))
        self.bias = nn.Parameter(torch.from_numpy(steps))
        deeper = range(settings.hidden_layers - 1)
        self.deeper = nn.ModuleList(nn.Linear(shape[2], shape[2]) for _ in deeper)

    def hidden(self, known: CasePairs, count: int) -> Tensor:
        pairs, order = seen(known.cases, known.units, (count, len(self.inward)))
        below = up_to(torch.from_numpy(known.codes[order]), self.inward.shape[1])
        found = torch.tanh(self.hidden_bias + gathered(below, self.inward, pairs))
        for layer in self.deeper:
            found = torch.tanh(layer(found))
        return found

    def forward(self, hidden: Tensor, asked: CasePairs) -> tuple[Tensor, Longs]:
        """[pairs, K]: the scores of levels, and the original order of the pairs."""
        pairs, order = seen(asked.cases, asked.units, (len(hidden), len(self.outward)))
        bias = embedding(torch.from_numpy(pairs.units), self.bias)
        return (bias + dots(hidden, self.outward, pairs)).cumsum(dim=1), order

    def probabilities(self, scores: Tensor) -> Tensor:
        return scores.cumsum(dim=1).softmax(dim=1)

    def groups(self, weight_decay: float) -> list[dict[str, Any]]:
        """The parameters by weight decay: biases have none."""
        biases = [self.bias, *(part for part in self.parameters() if part.dim() == 1)]
        known = {id(part) for part in biases}
        weights = [part for part in self.parameters() if id(part) not in known]
        # The gradient of d|w|² is 2dw.
        decay = {"params": weights, "weight_decay": 2 * weight_decay}
        return [decay, {"params": biases, "weight_decay": 0.0}]


def costs(scores: Tensor, codes: Tensor, ordinal: float) -> Tensor:
    """The cost of each pair: of its level, and of scores that do not fall to both sides of it."""
    regular = scores.logsumexp(dim=1) - scores.gather(1, codes.unsqueeze(1)).squeeze(1)
    at_most = up_to(codes, scores.shape[1])
    at_least = 1 - at_most + one_hot(codes, scores.shape[1])
    low = (scores.logcumsumexp(dim=1) - scores) * at_most
    high = (scores.flip(1).logcumsumexp(dim=1).flip(1) - scores) * at_least
    return (1 - ordinal) * regular + ordinal * (low + high).sum(dim=1)


def split_in_order(cases: Ints, draws: np.random.Generator) -> tuple[Flags, Floats]:
    """Which pairs come before a random position in a random order of their case.

    The cost of the D - d pairs that come after it stands for that of all D: the second array
    gives each case's D / (D - d).

    Args:
        cases: the case of each pair, ascending, each from 0 on with at least one.
    """
    counts = np.bincount(cases)
    order = np.argsort(cases + draws.random(len(cases)))
    rank = np.empty(len(cases), np.int64)
    rank[order] = np.arange(len(cases)) - np.repeat(np.cumsum(counts) - counts, counts)
    before = (draws.random(len(counts)) * counts).astype(np.int64)
    return rank < before[cases], (counts / (counts - before)).astype(np.float32)


class CFNADELearner(CaseLearner[CFNADENet]):
    """Predicts the ratings of each case after a random position in a random order."""

    settings: CFNADESettings

    def epoch(self) -> None:
        for chosen, count in self.batches():
            before, weights = split_in_order(chosen.cases, self.draws)
            known, asked = chosen.where(before), chosen.where(~before)
            scores, order = self.net(self.net.hidden(known, count), asked)
            each = costs(scores, torch.from_numpy(asked.codes[order]), self.settings.ordinal)
            counted = each * torch.from_numpy(weights[asked.cases[order]])
            self.descend(counted.sum() / count)


class CFNADE(CaseBaseline[CFNADESettings]):
    """A Neural Autoregressive Approach to Collaborative Filtering (Zheng et al., 2016, ICML).

    The ratings r of an item (or of a user) come one by one in a random order. After some of them,
    hidden units encode the known ratings and give each level k of another user's rating a score:

        h     = tanh(c + Σ_{j seen} Σ_{k <= r_j} W^k_j)
        s^k_m = Σ_{j <= k} (b^j_m + V^j_m·h)
        p(r_m = k | seen) = exp(s^k_m) / Σ_l exp(s^l_m)

    The sums over lower levels share parameters between levels. The estimate is the expected
    level. The ordinal cost of a rating k asks for scores that fall to both sides of it:

        - Σ_{j <= k} log(exp(s^j) / Σ_{t <= j} exp(s^t))
        - Σ_{j >= k} log(exp(s^j) / Σ_{t >= j} exp(s^t))

    An order and a place in it are drawn at each step; all ratings after it are predicted, and
    their cost counts for all D of them, D / (D - d) times.
    """

    Settings = CFNADESettings

    def _case_learner(
        self, frequencies: Floats, cases: Cases, levels: Levels, draws: np.random.Generator
    ) -> CaseLearner[Any]:
        settings = self.settings
        net = CFNADENet(frequencies, settings)
        learner = CFNADELearner(net, cases, levels, settings, draws)
        groups = net.groups(settings.weight_decay)
        learner.optimize(
            torch.optim.Adam(groups, settings.learning_rate, fused=True), settings.averaging
        )
        return learner
