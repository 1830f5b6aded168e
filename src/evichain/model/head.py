"""Heads: the estimate and its standard deviation, from two embeddings."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from evichain.model.channels import BESIDE_STATE
from evichain.model.choices import BESIDE_KEY
from evichain.model.settings import ChainSettings
from evichain.ratings.side import Side


class Head(nn.Module, ABC):
    """Turns embeddings into vectors whose dot product is the estimate."""

    bounded: ClassVar[bool]
    """Whether estimates are clipped to the scale of the ratings."""

    def __init__(self) -> None:
        super().__init__()
        self.log_stds = nn.ModuleList()

    @abstractmethod
    def forward(self, side: Side, rows: Tensor) -> Tensor:
        """The vectors of a side's rows."""

    @abstractmethod
    def state(self, rows: Tensor) -> Tensor:
        """The latent state of rows, without the bias."""

    @abstractmethod
    def loss(self, squares: Tensor, log_stds: Tensor | None) -> Tensor:
        """The loss, from squared errors and predicted log standard deviations, if any."""

    def log_std(self, side: Side, rows: Tensor) -> Tensor | None:
        """Each row's share of the log standard deviation: std is `exp(share_u + share_i)`.

        None for a head that does not predict it.
        """
        return None

    def estimate(self, users: Tensor, items: Tensor) -> Tensor:
        """The prediction from each pair of rows, or from one."""
        found: Tensor = (self(Side.USER, users) * self(Side.ITEM, items)).sum(dim=-1)
        return found


class DotHead(Head):
    """The paper's: the estimate is the dot product of the embeddings themselves."""

    bounded = False

    def forward(self, side: Side, rows: Tensor) -> Tensor:
        """The vectors of a side's rows."""
        return rows

    def state(self, rows: Tensor) -> Tensor:
        """The rows themselves."""
        return rows

    def loss(self, squares: Tensor, log_stds: Tensor | None) -> Tensor:
        """The mean."""
        return squares.mean()


class KeyHead(DotHead):
    """The score of a user and an item: the dot product of their rows without the log weights."""

    def forward(self, side: Side, rows: Tensor) -> Tensor:
        """The keys of rows."""
        return rows[..., :-BESIDE_KEY]

    def state(self, rows: Tensor) -> Tensor:
        """The keys too."""
        return rows[..., :-BESIDE_KEY]


class BaselineHead(Head):
    """The mean and both baselines, and on top of them a bilinear form of the states.

    As a dot product: `(mean + b_u) 1 + 1 b_i + (T s_u) s_i`, in the units of the ratings.
    """

    bounded = True
    unit: Tensor
    unknown_log_std: Tensor

    def __init__(self, settings: ChainSettings, mean: float, std: float) -> None:
        super().__init__()
        size = settings.embedding_size
        self.register_buffer("unit", torch.tensor([mean, std]))
        self.register_buffer("unknown_log_std", torch.zeros(len(Side)))
        self.form = nn.Linear(size, size)
        self.gain = nn.Parameter(torch.tensor(0.3))
        self.log_stds = nn.ModuleList(nn.Linear(size + BESIDE_STATE, 1) for _ in Side)
        for layer in self.log_stds:
            assert isinstance(layer, nn.Linear)
            # Initially, the std is the geometric mean of the spreads of user and item.
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
            with torch.no_grad():
                layer.weight[0, -BESIDE_STATE] = 0.25

    def forward(self, side: Side, rows: Tensor) -> Tensor:
        """The vectors of a side's rows."""
        mean, std = self.unit
        states, baseline = self.state(rows), rows[..., -1:] * std
        one = torch.ones_like(baseline)
        if side is Side.USER:
            turned = self.form(states) * (self.gain * std)
            return torch.cat([turned, baseline + mean, one], dim=-1)
        return torch.cat([states, one, baseline], dim=-1)

    def state(self, rows: Tensor) -> Tensor:
        """The rows without spread, scarcity and baseline."""
        return rows[..., :-BESIDE_STATE]

    def loss(self, squares: Tensor, log_stds: Tensor | None) -> Tensor:
        """The mean squared error, plus the Gaussian negative log-likelihood of the errors.

        In units of the ratings' standard deviation, so that a step means the same on any scale.
        The likelihood trains `log_std` only; estimates get no gradient from it.
        """
        assert log_stds is not None
        likelihood_loss = (log_stds + squares.detach() * torch.exp(-2 * log_stds) / 2).mean()
        return squares.mean() / self.unit[1].square() + likelihood_loss

    def log_std(self, side: Side, rows: Tensor) -> Tensor:
        """Each row's share; rows get no gradient from it."""
        share: Tensor = self.log_stds[side](rows.detach()).squeeze(-1)
        # Scarcity is 1 without evidence, and less with any.
        unknown = rows[..., -2] == 1
        return share + 0.5 * self.unit[1].log() + self.unknown_log_std[side] * unknown

    @torch.no_grad()
    def shift_log_std(self, amount: float) -> None:
        """Multiply all predicted standard deviations by `exp(amount)`."""
        layer = self.log_stds[Side.USER]
        assert isinstance(layer, nn.Linear)
        layer.bias.add_(amount)

    @torch.no_grad()
    def shift_unknown_log_std(self, side: Side, amount: float) -> None:
        """The same for unknown entities of a side only."""
        self.unknown_log_std[side] += amount
