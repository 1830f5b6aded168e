"""NCF in its rating form: a factorization and a network over pairs, fused in the last layer."""

from collections.abc import Iterator

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from evichain.baselines._pair_nets import PairLearner, PairNet, PairNetSettings
from evichain.baselines._rated_pairs import RatedPairs
from evichain.baselines._training import EpochBaseline
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side


class NCFSettings(PairNetSettings):
    """The settings of `NCF`."""

    learning_rate: float = Field(default=5e-3, gt=0)
    """The step size."""
    averaging: float = Field(default=0.99, ge=0, lt=1)
    """Decay of the running average of weights; 0 for no average."""
    regularization: float = Field(default=15.0, ge=0)
    """Lambda: the weight of the squared norm of all latent vectors beside the squared errors of
    all ratings."""
    factors: int = Field(default=16, ge=1, le=4096)
    """The length of the vectors that are multiplied, and of the network's last hidden layer."""
    hidden_layers: int = Field(default=3, ge=1, le=8)
    """Layers of the network, each half as wide as the one before."""


class NCFNet(PairNet):
    """`h·[p_u ∘ q_i; network(p'_u, q'_i)]`, and the mean."""

    def __init__(self, counts: tuple[int, int], mean: float, settings: NCFSettings) -> None:
        super().__init__()
        size = settings.factors
        widest = size * 2 ** (settings.hidden_layers - 1)
        self.factors = nn.ModuleList(nn.Embedding(counts[side], size) for side in Side)
        self.inputs = nn.ModuleList(nn.Embedding(counts[side], widest) for side in Side)
        for latent in self.latents():
            nn.init.normal_(latent, std=0.1)
        layers: list[nn.Module] = []
        wide = 2 * widest
        for _ in range(settings.hidden_layers):
            layers += [nn.Linear(wide, wide // 2), nn.ReLU()]
            wide //= 2
        self.layers = nn.Sequential(*layers)
        self.last = nn.Linear(size + wide, 1)
        nn.init.constant_(self.last.bias, mean)

    def latents(self) -> Iterator[Tensor]:
        for table in (*self.factors, *self.inputs):
            yield from table.parameters()

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        product = self.factors[Side.USER](users) * self.factors[Side.ITEM](items)
        both = torch.cat([self.inputs[Side.USER](users), self.inputs[Side.ITEM](items)], dim=1)
        found: Tensor = self.last(torch.cat([product, self.layers(both)], dim=1)).squeeze(1)
        return found


class NCF(EpochBaseline[NCFSettings]):
    """Neural Collaborative Filtering (He et al., 2017, WWW): NeuMF, for ratings.

    Two models with vectors of their own meet in the last layer:

        φ_GMF = p_u ∘ q_i
        φ_MLP = a_L(W_L ... a_1(W_1 [p'_u; q'_i] + c_1) ... + c_L),  a = ReLU
        r_ui  = h·[φ_GMF; φ_MLP] + b

    The paper ranks what was seen against what was not, by a sigmoid and cross entropy. For
    ratings the output stays linear and the loss is the squared error (its eq. 3), with the
    regularization of the vectors that it has in its experiments.
    """

    Settings = NCFSettings

    def _learner(self, graph: Graph, pairs: RatedPairs, draws: np.random.Generator) -> PairLearner:
        counts = len(graph.ids[Side.USER]), len(graph.ids[Side.ITEM])
        net = NCFNet(counts, float(pairs.ratings.mean()), self.settings)
        return PairLearner(net, pairs, self.settings, draws)
