"""The chain: prototypes and two generators, which together are the whole model."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from evichain.evidence.plan import Plan
from evichain.model.generator import Generator
from evichain.model.settings import ChainSettings
from evichain.ratings.side import Side


class Chain(nn.Module):
    """Evaluates a plan from the bottom up.

    `prototypes[side]` holds the stored embeddings of a side; `generators[side]` makes the
    embeddings of that side from evidence of the opposite one. A prediction is the dot
    product of two embeddings.

    Args:
        counts: how many prototypes each side has.
        mean: what is predicted when either embedding is nothing.
    """

    mean: Tensor

    def __init__(self, settings: ChainSettings, counts: Sequence[int], mean: float) -> None:
        super().__init__()
        size = settings.embedding_size
        self.prototypes = nn.ParameterList(
            nn.Parameter(torch.randn(counts[side], size) * 0.1) for side in Side
        )
        self.generators = nn.ModuleList(
            Generator(size, settings.width, settings.hidden_layers) for _ in Side
        )
        self.register_buffer("mean", torch.tensor(float(mean)))

    @torch.no_grad()
    def centre(self) -> None:
        """Let the generators begin at the mean prototype of their side.

        So the first predictions are about the mean rating already, and the first steps go
        into what tells entities apart instead of into finding the scale.
        """
        for side in Side:
            if len(self.prototypes[side]):
                self.generator(side).last.bias.copy_(self.prototypes[side].mean(dim=0))

    @property
    def parameter_count(self) -> int:
        """How many numbers the model has learned."""
        return sum(p.numel() for p in self.parameters())

    def rows(self, plan: Plan) -> dict[tuple[int, Side], Tensor]:
        """The rows of every block of a plan."""
        rows: dict[tuple[int, Side], Tensor] = {}
        for depth, side, block in plan.upward():
            stored = torch.from_numpy(block.prototypes)
            found = nn.functional.embedding(stored, self.prototypes[side])
            if block.layout is not None and len(block.entities):
                made = self.generator(side).generate(rows[depth + 1, side.opposite], block)
                found = torch.cat([found, made]) if len(found) else made
            rows[depth, side] = found
        return rows

    def generator(self, side: Side) -> Generator:
        """The generator of a side's embeddings."""
        found = self.generators[side]
        assert isinstance(found, Generator)
        return found

    def embed(self, plan: Plan) -> tuple[Tensor, Tensor]:
        """The rows of users and of items that a plan's requests point into."""
        rows = self.rows(plan)
        return rows[plan.top, Side.USER], rows[plan.top, Side.ITEM]

    def forward(self, plan: Plan) -> Tensor:
        """The prediction for each (user, item) request of a plan."""
        users, items = self.embed(plan)
        user, item = (torch.from_numpy(rows) for rows in plan.rows)
        possible = (user >= 0) & (item >= 0)
        # Not by indexing, whose gradient adds up in whatever order the threads come.
        left = nn.functional.embedding(user[possible], users)
        right = nn.functional.embedding(item[possible], items)
        dots = (left * right).sum(dim=-1)
        return self.mean.expand(len(user)).masked_scatter(possible, dots)
