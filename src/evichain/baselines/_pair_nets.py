"""Nets from a user and an item to a rating, trained on the squared error."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from evichain.baselines._rated_pairs import RatedPairs
from evichain.baselines._training import EpochSettings, Learner, batches
from evichain.kernels import Floats, Ints


class PairNetSettings(EpochSettings):
    """Settings of nets over pairs."""

    batch_size: int = Field(default=1024, ge=1)
    """Ratings per step."""
    averaging: float = Field(default=0.0, ge=0, lt=1)
    """Decay of the running average of weights; 0 for no average."""
    regularization: float = Field(default=10.0, ge=0)
    """Lambda: the weight of the squared norm of all latent vectors beside the squared errors of
    all ratings."""


class PairNet(nn.Module, ABC):
    """A net over pairs of users and items."""

    @abstractmethod
    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        """The rating of each pair."""

    @abstractmethod
    def latents(self) -> Iterator[Tensor]:
        """The parameters that are regularized."""


class PairLearner(Learner[PairNet]):
    """Minimizes `Σ (r - net(u, i))² + λ Σ |latents|²` by Adam, over batches of the first sum."""

    def __init__(
        self, net: PairNet, pairs: RatedPairs, settings: PairNetSettings, draws: np.random.Generator
    ) -> None:
        super().__init__(net)
        optimizer = torch.optim.Adam(net.parameters(), settings.learning_rate)
        self.optimize(optimizer, settings.averaging)
        self._pairs, self._settings, self._draws = pairs, settings, draws

    def epoch(self) -> None:
        share = self._settings.regularization / len(self._pairs)
        for indices in batches(len(self._pairs), self._settings.batch_size, self._draws):
            batch = self._pairs.at(indices)
            found = self.net(torch.from_numpy(batch.users), torch.from_numpy(batch.items))
            error = (found - torch.from_numpy(batch.ratings)).square().mean()
            penalty = torch.stack([part.square().sum() for part in self.net.latents()]).sum()
            self.descend(error + share * penalty)

    @torch.inference_mode()
    def scores(self, users: Ints, items: Ints) -> Floats:
        found: Floats = self.result(torch.from_numpy(users), torch.from_numpy(items)).numpy()
        return found
