"""NNMF and NCF: the functions and the objective, against loops."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from evichain.baselines._pair_nets import PairLearner, PairNet, PairNetSettings
from evichain.baselines._rated_pairs import RatedPairs
from evichain.baselines.ncf import NCFNet, NCFSettings
from evichain.baselines.nnmf import NNMFNet, NNMFSettings

COUNTS = 4, 5


def table(module: nn.Module) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    (weight,) = module.parameters()
    return weight.detach().double().numpy()


def linear(layer: Any, values: list[float]) -> list[float]:
    rows, biases = layer.weight.tolist(), layer.bias.tolist()
    return [
        sum(w * v for w, v in zip(row, values, strict=True)) + bias
        for row, bias in zip(rows, biases, strict=True)
    ]


def test_nnmf_is_a_sigmoid_network_over_vectors_and_products() -> None:
    torch.manual_seed(0)
    net = NNMFNet(COUNTS, 3.5, NNMFSettings(vector_size=2, product_size=3, width=4))
    for user, item in ((0, 0), (3, 4), (1, 2)):
        u, v = (table(part)[i] for part, i in zip(net.vectors, (user, item), strict=True))
        p, q = (table(part)[i] for part, i in zip(net.factors, (user, item), strict=True))
        values = [*u, *v, *(p * q)]
        *hidden, last = (layer for layer in net.layers if isinstance(layer, nn.Linear))
        assert len(hidden) == 3
        for layer in hidden:
            values = [1 / (1 + math.exp(-value)) for value in linear(layer, values)]
        (wanted,) = linear(last, values)
        found = net(torch.tensor([user]), torch.tensor([item]))
        assert float(found.detach()[0]) == pytest.approx(wanted, abs=1e-5)


def test_the_first_sigmoids_of_nnmf_tell_pairs_apart() -> None:
    torch.manual_seed(0)
    net = NNMFNet((50, 60), 3.5, NNMFSettings())
    users, items = torch.randint(50, (2, 500))
    found = net(users, items).detach()
    (first, *_) = (layer for layer in net.layers if isinstance(layer, nn.Linear))
    bound = 4 * math.sqrt(6 / (first.in_features + first.out_features))
    assert 0.9 * bound < float(first.weight.detach().abs().max()) <= bound
    # With the weights that PyTorch begins with, less than a hundredth of that.
    assert float(found.std()) > 0.01


def test_ncf_fuses_a_product_and_a_network_of_halving_layers() -> None:
    torch.manual_seed(0)
    net = NCFNet(COUNTS, 3.5, NCFSettings(factors=2, hidden_layers=3))
    hidden = [layer for layer in net.layers if isinstance(layer, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in hidden] == [
        (16, 8),
        (8, 4),
        (4, 2),
    ]
    for user, item in ((0, 0), (3, 4)):
        p, q = (table(part)[i] for part, i in zip(net.factors, (user, item), strict=True))
        u, v = (table(part)[i] for part, i in zip(net.inputs, (user, item), strict=True))
        values = [*u, *v]
        for layer in hidden:
            values = [max(0.0, value) for value in linear(layer, values)]
        (wanted,) = linear(net.last, [*(p * q), *values])
        found = net(torch.tensor([user]), torch.tensor([item]))
        assert float(found.detach()[0]) == pytest.approx(wanted, abs=1e-5)


class Product(PairNet):
    """A plain factorization."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.rows = nn.ParameterList(torch.randn(count, 3) for count in COUNTS)

    def latents(self) -> Any:
        return iter(self.rows)

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = (self.rows[0][users] * self.rows[1][items]).sum(dim=1)
        return found


def test_a_step_goes_down_the_objective_of_all_ratings() -> None:
    users, items = (part.astype(np.int32).ravel() for part in np.indices(COUNTS))
    ratings = np.arange(20, dtype=np.float32)
    settings = PairNetSettings(regularization=3.0, batch_size=100, learning_rate=0.1)
    net = Product()
    learner = PairLearner(
        net, RatedPairs(users, items, ratings), settings, np.random.default_rng(0)
    )
    u, v = (part.detach().clone().requires_grad_() for part in net.rows)
    grid = torch.from_numpy(ratings).view(COUNTS)
    objective = (grid - u @ v.T).square().sum() + 3.0 * (u.square().sum() + v.square().sum())
    objective.backward()
    learner.epoch()
    for part, start in zip(net.rows, (u, v), strict=True):
        assert start.grad is not None
        # Adam's first step has its full length in each direction, down the slope.
        torch.testing.assert_close(
            part.detach(), start.detach() - 0.1 * start.grad.sign(), atol=1e-4, rtol=0
        )
        assert part.grad is not None
        torch.testing.assert_close(part.grad, start.grad / 20, atol=1e-4, rtol=1e-4)
