"""The generator: the network that turns a piece of evidence into part of an embedding."""

import torch
from torch import Tensor, nn

from evichain.evidence.plan import Block
from evichain.model.ops import evidence_mean, spread


class Generator(nn.Module):
    """f(v, r): an embedding of the opposite side and a rating in, a contribution out.

    A feed-forward network with ReLU after each hidden layer and a linear last layer. An
    entity's embedding is the mean of f over its evidence. `forward` is f as written;
    `generate` gives all means of a block and uses two facts to do less: the first layer
    is linear in v, `W [v; r] = Wv v + r wr`, so Wv v is computed once an entity; the last
    layer is linear, so it comes after the mean, once an embedding.
    """

    def __init__(self, size: int, width: int, hidden_layers: int) -> None:
        super().__init__()
        self.first = nn.Linear(size + 1, width)
        self.middle = nn.ModuleList(nn.Linear(width, width) for _ in range(hidden_layers - 1))
        self.last = nn.Linear(width, size)

    def forward(self, embedding: Tensor, rating: Tensor) -> Tensor:
        """f for one piece of evidence, or for rows of embeddings and ratings."""
        hidden = torch.relu(self.first(torch.cat([embedding, rating.unsqueeze(-1)], dim=-1)))
        for layer in self.middle:
            hidden = torch.relu(layer(hidden))
        result: Tensor = self.last(hidden)
        return result

    def generate(self, below: Tensor, block: Block) -> Tensor:
        """The embeddings of a block's entities, then of its variants, from the rows below."""
        layout = block.layout
        assert layout is not None, "a block of prototypes only has nothing to generate"
        weight = self.first.weight
        sources = nn.functional.linear(below, weight[:, :-1], self.first.bias)
        pairs = spread(sources, weight[:, -1], layout)
        for number, layer in enumerate(self.middle):
            pairs = layer(torch.relu(pairs) if number else pairs)
        means = evidence_mean(pairs, layout, block.variant_node, block.variant_pair)
        result: Tensor = self.last(means)
        return result
