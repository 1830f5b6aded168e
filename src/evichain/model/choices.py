"""The generator of the `choices` recipe: which items someone chooses, whatever they rate them.

A row holds a key and, last, a log weight. From its evidence y (keys k, weights w, and confidence
c and target t of each rating), an entity computes a half-step of implicit alternating least
squares (Hu, Koren and Volinsky, 2008):

    z = (sum w c k k' + G)^-1 sum w c t k

G stands for all entities that were not chosen: it is a constant of the trained model, so an
update stays local. It is kept as its eigenvectors and eigenvalues, `basis diag(unchosen) basis'`.
z is the entity's key. What many have chosen tells little about a single one, so the weight of a
row as evidence falls with its number of links: `a - b log n`.

The score of a pair is the dot product of the user's key and the item's.
"""

import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from evichain.evidence.plan import Block
from evichain.evidence.plan_layout import Layout
from evichain.model.generator import Generator
from evichain.model.ops.ridge import solve
from evichain.model.ops.torch_ops import EvidenceTables
from evichain.model.settings import ChainSettings

BESIDE_KEY = 1
"""The numbers of a row after the key: the log weight."""


class ChoiceGenerator(Generator):
    """Makes rows of a key and a log weight by half-steps of implicit least squares."""

    links_at_once = 1 << 22
    has_prior = True
    additive = False
    reading: Tensor

    def __init__(self, settings: ChainSettings) -> None:
        super().__init__()
        size = settings.key_size
        self.basis = nn.Parameter(torch.eye(size))
        self.log_unchosen = nn.Parameter(torch.zeros(size))
        self.weighting = nn.Parameter(torch.zeros(2))
        self.usual = nn.Parameter(torch.zeros(size))
        self.register_buffer("reading", torch.tensor([-math.inf, 1.0, 0.0]))

    def read(self, ratings: Tensor) -> tuple[Tensor, Tensor]:
        """The confidence and the target of ratings, or of the weights of interactions.

        `reading` holds the lowest rating that is a choice, and the confidence of lower ratings.
        If its last number is not 0, the ratings are weights, which are confidences.
        """
        lowest, confidence, weighted = self.reading
        chosen = ratings >= lowest
        trust = torch.where(chosen, 1.0, confidence)
        return torch.where(weighted != 0, trust * ratings.abs(), trust), chosen.to(ratings.dtype)

    def forward(self, evidence: Tensor, ratings: Tensor) -> Tensor:
        """The row generated from this evidence; the usual row if there is none."""
        if not len(ratings):
            return torch.cat([self.usual, self.usual.new_zeros(BESIDE_KEY)])
        confidence, target = self.read(ratings)
        keys, weights = evidence[:, :-1] @ self.basis, evidence[:, -1].exp() * confidence
        matrix = keys.T @ (keys * weights.unsqueeze(1)) + torch.diag(self.log_unchosen.exp())
        solved = torch.linalg.solve(matrix, keys.T @ (weights * target))
        count = torch.tensor([len(ratings)], device=ratings.device)
        return self.compose(solved.unsqueeze(0), count).squeeze(0)

    def generate(self, below: Tensor, block: Block) -> Tensor:
        """All rows of a block."""
        layout = self.placed(block, below.device)
        assert not len(block.variant_node), "choices do not support cycle blocking"
        links = layout.count if isinstance(layout, EvidenceTables) else np.diff(layout.node_ptr)
        source, values = (torch.as_tensor(a) for a in (layout.pair_source, layout.pair_value))
        source = source.to(torch.int64)
        confidence, target = self.read(values)
        # With root weights on both sides of the regression, the sums are weighted.
        root = (below[source, -1] / 2).exp() * confidence.sqrt()
        solved, _ = solve(
            (below[:, :-1] @ self.basis)[source] * root.unsqueeze(1),
            values - root * target,
            below.new_zeros(len(links)),
            self.log_unchosen.exp(),
            pairs_as_sources(layout),
        )
        return self.compose(solved, torch.as_tensor(links))

    def compose(self, solved: Tensor, count: Tensor) -> Tensor:
        """Rows from the solutions and the number of links."""
        keys = solved @ self.basis.T
        weights = self.weighting[0] - self.weighting[1] * count.to(keys.dtype).log()
        return torch.cat([keys, weights.unsqueeze(1)], dim=1)


def pairs_as_sources(layout: Layout | EvidenceTables) -> Layout | EvidenceTables:
    """The same evidence, with a source of its own for each (source, rating) pair."""
    count = len(layout.pair_source)
    if isinstance(layout, EvidenceTables):
        device = layout.pair_source.device
        return replace(layout, pair_source=torch.arange(count, device=device))
    return replace(
        layout,
        pair_source=np.arange(count, dtype=np.int32),
        source_ptr=np.arange(count + 1, dtype=np.int64),
    )
