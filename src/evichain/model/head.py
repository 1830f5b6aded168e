"""What is read off two embeddings: the estimate, and how far it may be wrong."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from evichain.model.channels import BESIDE_STATE
from evichain.model.settings import ChainSettings
from evichain.ratings.side import Side


class Head(nn.Module, ABC):
    """Turns embeddings into vectors whose dot product is the estimate."""

    @abstractmethod
    def forward(self, side: Side, rows: Tensor) -> Tensor:
        """The vectors of a side's rows."""

    def estimate(self, users: Tensor, items: Tensor) -> Tensor:
        """The prediction from each pair of rows, or from one."""
        found: Tensor = (self(Side.USER, users) * self(Side.ITEM, items)).sum(dim=-1)
        return found


class DotHead(Head):
    """The paper's: the estimate is the dot product of the embeddings themselves."""

    def forward(self, side: Side, rows: Tensor) -> Tensor:
        """The vectors of a side's rows."""
        return rows


class BaselineHead(Head):
    """The mean and both baselines, and on top of them a bilinear form of the states.

    As a dot product: `(mean + b_u) 1 + 1 b_i + (T s_u) s_i`, in the units of the ratings.
    """

    unit: Tensor

    def __init__(self, settings: ChainSettings, mean: float, deviation: float) -> None:
        super().__init__()
        size = settings.embedding_size
        self.register_buffer("unit", torch.tensor([mean, deviation]))
        self.form = nn.Linear(size, size)
        self.gain = nn.Parameter(torch.tensor(0.3))
        self.doubts = nn.ModuleList(nn.Linear(size + BESIDE_STATE, 1) for _ in Side)
        for layer in self.doubts:
            assert isinstance(layer, nn.Linear)
            # To begin with, who has been hard to predict will be: the mean of both spreads.
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
            with torch.no_grad():
                layer.weight[0, -BESIDE_STATE] = 0.25

    def forward(self, side: Side, rows: Tensor) -> Tensor:
        """The vectors of a side's rows."""
        mean, deviation = self.unit
        states, level = rows[..., :-BESIDE_STATE], rows[..., -1:] * deviation
        one = torch.ones_like(level)
        if side is Side.USER:
            turned = self.form(states) * (self.gain * deviation)
            return torch.cat([turned, level + mean, one], dim=-1)
        return torch.cat([states, one, level], dim=-1)

    def doubt(self, side: Side, rows: Tensor) -> Tensor:
        """Each row's share of the doubt: `exp(share_u + share_i)` is the deviation expected.

        It is learned from the rows and changes nothing in them.
        """
        share: Tensor = self.doubts[side](rows.detach()).squeeze(-1)
        return share + 0.5 * self.unit[1].log()

    def shift_doubt(self, side: Side, amount: float) -> None:
        """Add to every share of a side: all deviations expected grow by `exp(amount)`."""
        layer = self.doubts[side]
        assert isinstance(layer, nn.Linear)
        layer.bias.add_(amount)
