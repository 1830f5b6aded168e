"""The chain: prototypes, generators and a head; together they are the whole model."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from evichain.evidence.plan import Plan
from evichain.evidence.pool import Pool
from evichain.model.channels import BESIDE_STATE, ChannelGenerator
from evichain.model.choices import BESIDE_KEY, ChoiceGenerator
from evichain.model.generator import Generator
from evichain.model.head import BaselineHead, DotHead, Head, KeyHead
from evichain.model.mean import MeanGenerator
from evichain.model.ops.dots import paired_dots
from evichain.model.settings import ChainSettings
from evichain.ratings.side import Side

Exchange = Callable[[Tensor, slice, int], Tensor]
"""From this process's rows, where they are among all, and how many there are: all rows."""


class RequestRows(NamedTuple):
    """One side of many requests: distinct rows, and which row each request has."""

    rows: Tensor
    at: Tensor

    @classmethod
    def each(cls, rows: Tensor) -> Self:
        """One row for each request."""
        return cls(rows, torch.arange(len(rows), device=rows.device))


class Chain(nn.Module):
    """Evaluates a plan from the bottom up.

    `prototypes[side]` holds the stored embeddings of a side; `generator(side, depth)` makes
    the embeddings of that side from evidence of the opposite one. The head reads the
    prediction off two embeddings.

    Args:
        counts: how many prototypes each side has.
        mean, std: of the ratings.
        depths: how many depths embeddings are generated at (MD).
    """

    mean: Tensor

    def __init__(
        self,
        settings: ChainSettings,
        counts: Sequence[int],
        mean: float,
        *,
        std: float = 1.0,
        depths: int = 1,
    ) -> None:
        super().__init__()
        kind, size = settings.generator, settings.embedding_size
        self.settings = settings
        self.shared = settings.shared_generators
        row, spread = {
            "mean": (size, 0.1),
            "channels": (size + BESIDE_STATE, 0.5),
            "choices": (settings.key_size + BESIDE_KEY, 0.1),
        }[kind]
        self.prototypes = nn.ParameterList(
            nn.Parameter(torch.randn(counts[side], row) * spread) for side in Side
        )

        def generator(depth: int, side: Side) -> nn.Module:
            if kind == "mean":
                return MeanGenerator(size, settings.width, settings.hidden_layers)
            if kind == "channels":
                return ChannelGenerator(settings, mean, std)
            # Staggered, so that a depth has embeddings of one side only.
            other = (depth - side) % 2
            return nn.Identity() if other else ChoiceGenerator(settings)

        many = 1 if self.shared else max(1, depths)
        self.generators = nn.ModuleList(generator(d, side) for d in range(many) for side in Side)
        self.head: Head
        if kind == "channels":
            self.head = BaselineHead(settings, mean, std)
        else:
            self.head = DotHead() if kind == "mean" else KeyHead()
        self.register_buffer("mean", torch.tensor(float(mean)))

    @classmethod
    def for_pool(cls, settings: ChainSettings, pool: Pool, depths: int) -> Self:
        """An untrained chain for the prototypes and the ratings of a pool."""
        graph, counts = pool.graph, [side.count for side in pool.sides]
        return cls(settings, counts, graph.mean, std=graph.std or 1.0, depths=depths)

    @classmethod
    def from_weights(cls, settings: ChainSettings, depths: int, weights: dict[str, Tensor]) -> Self:
        """A trained chain again, from the `state_dict` of one with these settings."""
        counts = [len(weights[f"prototypes.{side}"]) for side in range(len(Side))]
        chain = cls(settings, counts, 0.0, depths=depths)
        chain.load_state_dict(weights)
        return chain

    @torch.no_grad()
    def centre(self) -> None:
        """Initialize mean generators at the mean prototype of their side.

        So the first predictions are near the mean rating, and the first steps learn the
        differences between entities, not the scale.
        """
        for number, generator in enumerate(self.generators):
            stored = self.prototypes[number % len(Side)]
            if isinstance(generator, MeanGenerator) and len(stored):
                generator.last.bias.copy_(stored.mean(dim=0))

    @property
    def parameter_count(self) -> int:
        """The number of learned parameters."""
        return sum(p.numel() for p in self.parameters())

    def generator(self, side: Side, depth: int) -> Generator:
        """The generator of a side's embeddings at a depth."""
        found = self.generators[side if self.shared else len(Side) * depth + side]
        assert isinstance(found, Generator)
        return found

    @property
    def of_choices(self) -> bool:
        """Whether estimates are scores of what is chosen, and not ratings."""
        return self.settings.generator == "choices"

    def request_depth(self, side: Side) -> int:
        """The depth at which embeddings of a side are compared; see `Policy.staggered`."""
        return int(side) if self.of_choices else 0

    @property
    def row_size(self) -> int:
        """The length of an embedding."""
        size: int = self.prototypes[Side.USER].shape[1]
        return size

    @property
    def links_at_once(self) -> int:
        """How many links a block may have, to bound the memory."""
        return self.generator(Side.USER, 0).links_at_once

    def rows(self, plan: Plan, exchange: Exchange | None = None) -> dict[tuple[int, Side], Tensor]:
        """The rows of every block of a plan; `exchange` completes the shares of a shared plan."""
        rows: dict[tuple[int, Side], Tensor] = {}
        for depth, side, block in plan.upward():
            stored = self.prototypes[side]
            found = embedding(torch.from_numpy(block.prototypes).to(stored.device), stored)
            if block.layout is not None and len(block.entities):
                generator, below = self.generator(side, depth), rows[depth + 1, side.opposite]
                # Also for an empty share: the backward pass must be the same in all processes.
                made = generator.generate(below, block)
                if block.share is not None:
                    assert exchange is not None, "a share of a plan needs the others"
                    made = exchange(made, block.share, len(block.entities))
                found = torch.cat([found, made]) if len(found) else made
            rows[depth, side] = found
        return rows

    @property
    def has_prior(self) -> bool:
        """Whether there is an embedding for entities without evidence."""
        return self.generator(Side.USER, 0).has_prior

    def prior(self, side: Side) -> Tensor | None:
        """The embedding of an entity without evidence; None if the model has no prior."""
        if not self.has_prior:
            return None
        nobody = self.prototypes[side.opposite][:0]
        found: Tensor = self.generator(side, self.request_depth(side))(nobody, nobody.new_empty(0))
        return found

    def embed(self, plan: Plan, exchange: Exchange | None = None) -> tuple[Tensor, Tensor]:
        """The rows of users and of items that a plan's requests point into."""
        rows = self.rows(plan, exchange)
        return rows[plan.tops[0], Side.USER], rows[plan.tops[1], Side.ITEM]

    def request_rows(
        self, plan: Plan, exchange: Exchange | None = None
    ) -> tuple[RequestRows, RequestRows, Tensor]:
        """The rows of each (user, item) request, and which requests are possible.

        Without an embedding, the row is the prior, or zeros if there is no prior.
        """
        sides, has_embedding = [], []
        for side, rows in zip(Side, self.embed(plan, exchange), strict=True):
            at = torch.from_numpy(plan.rows[side]).to(rows.device, torch.int64)
            prior = self.prior(side)
            nothing = rows.new_zeros(rows.shape[1]) if prior is None else prior
            known = torch.cat([rows, nothing.unsqueeze(0)])
            sides.append(RequestRows(known, torch.where(at < 0, len(rows), at)))
            has_embedding.append(at >= 0)
        return sides[0], sides[1], has_embedding[0] & has_embedding[1]

    def estimate(self, users: RequestRows, items: RequestRows, possible: Tensor) -> Tensor:
        """The prediction for each request; the mean rating if it is not possible."""
        left, right = self.head(Side.USER, users.rows), self.head(Side.ITEM, items.rows)
        found = paired_dots(left, right, users.at, items.at)
        return found if self.has_prior else torch.where(possible, found, self.mean)

    def loss(self, squares: Tensor, users: RequestRows, items: RequestRows) -> Tensor:
        """The loss, from the squared errors of requests."""
        shares = []
        for side, end in zip(Side, (users, items), strict=True):
            log_std = self.head.log_std(side, end.rows)
            if log_std is None:
                return self.head.loss(squares, None)
            # Not by indexing: its gradient is summed in an order that depends on the threads.
            shares.append(embedding(end.at, log_std.unsqueeze(1)).squeeze(1))
        return self.head.loss(squares, shares[0] + shares[1])

    def forward(self, plan: Plan) -> Tensor:
        """The prediction for each (user, item) request of a plan."""
        return self.estimate(*self.request_rows(plan))
