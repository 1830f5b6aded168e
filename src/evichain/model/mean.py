"""The paper's generator: an embedding is the mean of a network's output for each piece."""

import torch
from torch import Tensor, nn

from evichain.evidence.plan import Block
from evichain.model.generator import Generator
from evichain.model.ops.means import evidence_mean, pair_activations


class MeanGenerator(Generator):
    """The mean of f(v, r) over the evidence: embeddings v of the opposite side with ratings r.

    f is a feed-forward network with ReLU after each hidden layer and a linear last layer.
    `generate` uses two facts to do less: the first layer is linear in v,
    `W [v; r] = Wv v + r wr`, so Wv v is computed once per entity; the last layer is linear,
    so it is applied after the mean, once per embedding.
    """

    links_at_once = 1 << 19
    has_prior = False
    additive = True

    def __init__(self, size: int, width: int, hidden_layers: int) -> None:
        super().__init__()
        self.first = nn.Linear(size + 1, width)
        self.middle = nn.ModuleList(nn.Linear(width, width) for _ in range(hidden_layers - 1))
        self.last = nn.Linear(width, size)

    def contribution(self, embedding: Tensor, rating: Tensor) -> Tensor:
        """f for one piece of evidence, or for rows of embeddings and ratings."""
        hidden = torch.relu(self.first(torch.cat([embedding, rating.unsqueeze(-1)], dim=-1)))
        for layer in self.middle:
            hidden = torch.relu(layer(hidden))
        result: Tensor = self.last(hidden)
        return result

    def forward(self, evidence: Tensor, ratings: Tensor) -> Tensor:
        """The mean of f over the evidence, piece by piece as the paper writes it."""
        pieces = zip(evidence, ratings, strict=True)
        return torch.stack([self.contribution(v, r) for v, r in pieces]).mean(dim=0)

    def generate(self, below: Tensor, block: Block) -> Tensor:
        """All means of a block."""
        layout = self.placed(block, below.device)
        weight = self.first.weight
        sources = nn.functional.linear(below, weight[:, :-1], self.first.bias)
        pairs = pair_activations(sources, weight[:, -1], layout)
        for number, layer in enumerate(self.middle):
            pairs = layer(torch.relu(pairs) if number else pairs)
        means = evidence_mean(pairs, layout, block.variant_node, block.variant_pair)
        result: Tensor = self.last(means)
        return result
