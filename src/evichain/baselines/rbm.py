"""RBM-CF: a Boltzmann machine for each user, all with the same weights."""

from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import embedding, one_hot

from evichain.baselines._base import finite
from evichain.baselines._case_nets import (
    CaseBaseline,
    CaseLearner,
    CaseNet,
    CasePairs,
    Cases,
    CaseSettings,
)
from evichain.baselines._levels import Levels
from evichain.baselines._units import Seen, dots, gathered, outer, seen
from evichain.kernels import Floats


class RBMSettings(CaseSettings):
    """The settings of `RBM`."""

    learning_rate: float = Field(default=0.03, gt=0)
    """The step size."""
    patience: int = Field(default=15, ge=1)
    """Validations without improvement after which training stops; the best epoch is kept."""
    gibbs_steps: int = Field(default=1, ge=1)
    """T: the number of Gibbs steps before the difference to the data is taken."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """The share of the previous step that is added to a step."""
    weight_decay: float = Field(default=0.01, ge=0)
    """How strongly weights are shrunk towards zero."""


class RBMNet(CaseNet):
    """Weights and biases, and the two conditionals of the machine."""

    def __init__(self, frequencies: Floats, hidden_units: int) -> None:
        super().__init__()
        self.outward = nn.Parameter(torch.randn(*frequencies.shape, hidden_units) * 0.01)
        self.bias = nn.Parameter(torch.from_numpy(np.log(frequencies)))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden_units))

    def seen(self, known: CasePairs, count: int) -> tuple[Tensor, Seen]:
        """[pairs, K]: the observed levels, one-hot; and the pairs of case and unit."""
        pairs, order = seen(known.cases, known.units, (count, len(self.outward)))
        codes = torch.from_numpy(known.codes[order])
        return one_hot(codes, self.outward.shape[1]).float(), pairs

    def hidden_given_visible(self, on: Tensor, pairs: Seen) -> Tensor:
        """`p(h_j = 1 | V)` of each case."""
        return torch.sigmoid(self.hidden_bias + gathered(on, self.outward, pairs))

    def visible_given_hidden(self, hidden: Tensor, pairs: Seen) -> Tensor:
        """`p(v_i^k = 1 | h)` of each pair."""
        bias = embedding(torch.from_numpy(pairs.units), self.bias)
        return self.probabilities(bias + dots(hidden, self.outward, pairs))

    def hidden(self, known: CasePairs, count: int) -> Tensor:
        return self.hidden_given_visible(*self.seen(known, count))

    def probabilities(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=1)


def divergence(net: RBMNet, on: Tensor, pairs: Seen, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """The ascent directions of weights, biases and hidden biases: `<v h>_data - <v h>_T`.

    Args:
        on: [pairs, K], the levels in the data.
    """
    first = net.hidden_given_visible(on, pairs)
    again, hidden = on, first
    for _ in range(steps):
        visible = net.visible_given_hidden(torch.bernoulli(_checked_probabilities(hidden)), pairs)
        drawn = _checked_probabilities(visible).multinomial(1).squeeze(1)
        again = one_hot(drawn, on.shape[1]).float()
        hidden = net.hidden_given_visible(again, pairs)
    weights = outer(on, first, pairs) - outer(again, hidden, pairs)
    bias = torch.zeros_like(net.bias).index_add(0, torch.from_numpy(pairs.units), on - again)
    return weights, bias, (first - hidden).sum(dim=0)


def _checked_probabilities(found: Tensor) -> Tensor:
    """The same probabilities; an error if one is not finite."""
    finite(found.detach().numpy())
    return found


class RBMLearner(CaseLearner[RBMNet]):
    """Learns by contrastive divergence."""

    settings: RBMSettings

    @torch.no_grad()
    def epoch(self) -> None:
        net = self.net
        for chosen, count in self.batches():
            rises = divergence(net, *net.seen(chosen, count), self.settings.gibbs_steps)
            parts = net.outward, net.bias, net.hidden_bias
            for part, rise in zip(parts, rises, strict=True):
                part.grad = -rise / count
            self.step()


class RBM(CaseBaseline[RBMSettings]):
    """Restricted Boltzmann Machines for Collaborative Filtering (Salakhutdinov et al., 2007, ICML).

    A user's machine has a softmax unit for each item rated; all machines share their weights:

        p(v_i^k = 1 | h) = exp(b_i^k + Σ_j h_j W_ij^k) / Σ_l exp(b_i^l + Σ_j h_j W_ij^l)
        p(h_j = 1 | V)   = σ(b_j + Σ_i Σ_k v_i^k W_ij^k)

    They are learned by contrastive divergence, `ΔW = ε (<v h>_data - <v h>_T)`. A rating is
    predicted from the probabilities of the hidden units given all ratings of the user, as the
    expected level (the paper's mean-field form).
    """

    Settings = RBMSettings

    def _case_learner(
        self, frequencies: Floats, cases: Cases, levels: Levels, draws: np.random.Generator
    ) -> CaseLearner[Any]:
        settings = self.settings
        net = RBMNet(frequencies, settings.hidden_units)
        learner = RBMLearner(net, cases, levels, settings, draws)
        groups = [
            {"params": [net.outward], "weight_decay": settings.weight_decay},
            {"params": [net.bias, net.hidden_bias], "weight_decay": 0.0},
        ]
        learner.optimize(
            torch.optim.SGD(groups, settings.learning_rate, momentum=settings.momentum)
        )
        return learner
