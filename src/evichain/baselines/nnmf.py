"""NNMF: matrix factorization with a neural network in place of the inner product."""

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


class NNMFSettings(PairNetSettings):
    """The settings of `NNMF`."""

    epochs: int = Field(default=80, ge=0)
    """Maximum number of passes over the training ratings."""
    learning_rate: float = Field(default=5e-3, gt=0)
    """The step size."""
    patience: int = Field(default=6, ge=1)
    """Validations without improvement after which training stops; the best epoch is kept."""
    annealing: bool = False
    """Lower the step size along half a cosine, to zero after the last epoch."""
    refit: bool = True
    """Train again on all ratings, for the number of epochs that validated best."""
    batch_size: int = Field(default=512, ge=1)
    """Ratings per step."""
    regularization: float = Field(default=50.0, ge=0)
    """Lambda: the weight of the squared norm of all latent vectors beside the squared errors of
    all ratings."""
    averaging: float = Field(default=0.999, ge=0, lt=1)
    """Decay of the running average of weights; 0 for no average."""
    vector_size: int = Field(default=10, ge=1, le=4096)
    """D: the length of the vectors that enter the network directly."""
    product_size: int = Field(default=60, ge=1, le=4096)
    """D': the length of the vectors that enter it as products."""
    width: int = Field(default=50, ge=1, le=8192)
    """Sigmoid units in each hidden layer."""
    hidden_layers: int = Field(default=3, ge=1, le=8)
    """Hidden layers; a linear one follows."""


class NNMFNet(PairNet):
    """`f(U_u, V_i, U'_u ∘ V'_i)`."""

    def __init__(self, counts: tuple[int, int], mean: float, settings: NNMFSettings) -> None:
        super().__init__()
        sizes = settings.vector_size, settings.product_size
        self.vectors = nn.ModuleList(nn.Embedding(counts[side], sizes[0]) for side in Side)
        self.factors = nn.ModuleList(nn.Embedding(counts[side], sizes[1]) for side in Side)
        for latent in self.latents():
            nn.init.normal_(latent, std=0.1)
        layers: list[nn.Module] = []
        wide = 2 * sizes[0] + sizes[1]
        for _ in range(settings.hidden_layers):
            layers += [_layer(wide, settings.width), nn.Sigmoid()]
            wide = settings.width
        last = nn.Linear(wide, 1)
        nn.init.constant_(last.bias, mean)
        self.layers = nn.Sequential(*layers, last)

    def latents(self) -> Iterator[Tensor]:
        for table in (*self.vectors, *self.factors):
            yield from table.parameters()

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        pair = users, items
        left, right = (self.vectors[side](pair[side]) for side in Side)
        product = self.factors[Side.USER](users) * self.factors[Side.ITEM](items)
        found: Tensor = self.layers(torch.cat([left, right, product], dim=1)).squeeze(1)
        return found


def _layer(inputs: int, outputs: int) -> nn.Linear:
    """A layer for sigmoids, with initial weights large enough to separate their inputs.

    Those of Glorot and Bengio (2010) for tanh, times 4: a sigmoid has a quarter of its slope. With
    PyTorch's own, which are smaller, a strong regularization takes the latent vectors away before
    the network has begun to use them.
    """
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight, gain=4.0)
    nn.init.zeros_(layer.bias)
    return layer


class NNMF(EpochBaseline[NNMFSettings]):
    """Neural Network Matrix Factorization (Dziugaite and Roy, 2015, arXiv:1511.06443).

    The rating of item i by user u is `f(U_u, V_i, U'_u ∘ V'_i)`: a network over a vector of each
    (length D) and the elementwise product of another vector of each (length D'), all of which are
    learned together with it by

        min Σ (r_ui - f(U_u, V_i, U'_u ∘ V'_i))² + λ (|U|² + |V|² + |U'|² + |V'|²)

    The paper alternates between network and vectors by RMSprop over all ratings at once; here
    both are learned at once by Adam over batches, and a running average of the weights answers.

    >>> from evichain.testing import planted_blocks
    >>> NNMF(epochs=2).fit(planted_blocks()).predict("nobody", 0).reason
    "unknown user 'nobody'"
    """

    Settings = NNMFSettings

    def _learner(self, graph: Graph, pairs: RatedPairs, draws: np.random.Generator) -> PairLearner:
        counts = len(graph.ids[Side.USER]), len(graph.ids[Side.ITEM])
        net = NNMFNet(counts, float(pairs.ratings.mean()), self.settings)
        return PairLearner(net, pairs, self.settings, draws)
