"""The generator of the `plus` recipe: a baseline, and channels that learn from residuals.

A row holds a state, the spread of the entity's ratings, their scarcity and, last, a baseline:
the entity's bias, in units of the standard deviation of all ratings. With the residual
`t = r - baseline(y) - baseline(x)`, an entity x computes from its evidence (y, r)

- its baseline, `sum (r - baseline(y)) / (n + b)`: a mean, shrunken toward 0;
- the ridge channel, the coefficients of a regression of t on keys of y: a step of
  alternating least squares, from generated keys;
- the presence channel, `sum w(y) / (n + c)`: who was rated at all;
- features: the baseline, the amount of evidence, and its spread;

and a small network computes its state from these. Every sum is shrunken, so that an entity with
little evidence is near the prior: the row for no evidence.
"""

import numpy as np
import torch
from torch import Tensor, nn

from evichain.evidence.plan import Block
from evichain.model.generator import Generator
from evichain.model.ops.ridge import solve
from evichain.model.ops.segment_sums import evidence_sums
from evichain.model.ops.torch_ops import EvidenceTables
from evichain.model.settings import ChainSettings

BESIDE_STATE = 3
"""The numbers of a row after the state: spread, scarcity, baseline."""
_FEATURES = 4
PRIOR_RATINGS = 5.0
"""The spread is shrunken as if there were so many more ratings with the usual spread."""


class ChannelGenerator(Generator):
    """Makes rows of a state, spread, scarcity and baseline by channels.

    Args:
        mean: the mean rating.
        std: the standard deviation of the ratings.
    """

    links_at_once = 1 << 22
    has_prior = True
    additive = False
    unit: Tensor

    def __init__(self, settings: ChainSettings, mean: float, std: float) -> None:
        super().__init__()
        state, width = settings.embedding_size, settings.width
        self.sizes = [
            settings.key_size if settings.ridge_channel else 0,
            settings.channel_size if settings.presence_channel else 0,
        ]
        self.register_buffer("unit", torch.tensor([mean, std]))
        self.log_shrinkage = nn.Parameter(torch.tensor([2.0, 1.6]))
        self.log_ridge = nn.Parameter(torch.full((self.sizes[0],), 1.5))
        self.project = nn.Linear(state + BESIDE_STATE - 1, sum(self.sizes))
        inputs = sum(self.sizes) + _FEATURES
        self.direct = nn.Linear(inputs, state)
        self.hidden = nn.Linear(inputs, width)
        self.last = nn.Linear(width, state, bias=False)

    def forward(self, evidence: Tensor, ratings: Tensor) -> Tensor:
        """The row generated from this evidence; the prior if there is none."""
        if not len(ratings):
            nothing = evidence.new_zeros(1)
            sums = (evidence.new_zeros(1, size) for size in self.sizes)
            return self.compose(nothing, nothing, nothing, *sums).squeeze(0)
        keys, presence = self.project(evidence[:, :-1]).split(self.sizes, dim=1)
        count = torch.tensor([len(ratings)], device=ratings.device)
        unexplained = (ratings - self.unit[0]) / self.unit[1] - evidence[:, -1]
        own = self._baseline(unexplained.sum().view(1), count)
        residuals = unexplained - own
        matrix = keys.T @ keys + torch.diag(self.log_ridge.exp())
        row = self.compose(
            own,
            count,
            residuals.square().sum().view(1),
            torch.linalg.solve(matrix, keys.T @ residuals).unsqueeze(0),
            presence.sum(dim=0, keepdim=True),
        )
        return row.squeeze(0)

    def generate(self, below: Tensor, block: Block) -> Tensor:
        """All rows of a block."""
        layout = self.placed(block, below.device)
        assert not len(block.variant_node), "channels do not support cycle blocking"
        mean, std = self.unit
        # The baselines in the units of the ratings, so that links need not be rescaled.
        usual = below[:, -1] * std + mean
        links = layout.count if isinstance(layout, EvidenceTables) else np.diff(layout.node_ptr)
        count = torch.as_tensor(links)
        keys, presence = self.project(below[:, :-1]).split(self.sizes, dim=1)
        plain, sums = evidence_sums(
            presence, below.new_ones(len(below), 1), usual, below.new_zeros(len(count)), layout
        )
        own = self._baseline(sums[:, 0] / std, count)
        solved, squares = solve(keys, usual, own * std, self.log_ridge.exp(), layout)
        return self.compose(own, count, squares / std**2, solved / std, plain)

    def _baseline(self, total: Tensor, count: Tensor) -> Tensor:
        return total / (count + self.log_shrinkage[0].exp())

    def compose(
        self, own: Tensor, count: Tensor, squares: Tensor, solved: Tensor, presence: Tensor
    ) -> Tensor:
        """Rows from their sums over evidence."""
        shrunken = (count + self.log_shrinkage[1].exp()).unsqueeze(1)
        spread = ((squares.detach() + PRIOR_RATINGS) / (count + PRIOR_RATINGS)).sqrt()
        # Scaled to about zero mean and unit size.
        spread, scarcity = 2 * spread.log(), (count + 1) ** -0.5
        features = (2 * own, (torch.log1p(count) - 4) / 2, spread, scarcity)
        gathered = torch.cat([solved, 3 * presence / shrunken, torch.stack(features, dim=1)], dim=1)
        state = self.direct(gathered) + self.last(torch.relu(self.hidden(gathered)))
        return torch.cat([state, torch.stack([spread, scarcity, own], dim=1)], dim=1)
