"""The paper's recursion, as written there, with its complexity controls and counters.

It is slow, and the oracle: all other code that computes embeddings must agree with it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from evichain.evidence.counters import Counters
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import NOTHING_HIDDEN, STABLE, Hidden, selected
from evichain.kernels import Ints
from evichain.model.chain import Chain
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side

Entity = tuple[Side, int]


@dataclass
class Recursion:
    """Predicts by recursion; make a new one for each gradient step (its cache is never cleared)."""

    chain: Chain
    pool: Pool
    policy: Policy
    seed: int = STABLE
    hidden: Hidden = NOTHING_HIDDEN

    def __post_init__(self) -> None:
        self.requests = self.generated = self.failed = self.cache_hits = 0
        self._cache: dict[tuple[Entity, int, Entity | None], Tensor | None] = {}

    @property
    def counters(self) -> Counters:
        """The counts so far."""
        return Counters(self.requests, self.generated, self.failed, self.cache_hits)

    def predict(self, users: Ints, items: Ints) -> tuple[Tensor, list[bool]]:
        """The predictions, and which of them are possible (the others are the mean)."""
        estimates, possible = [], []
        for user, item in zip(users.tolist(), items.tolist(), strict=True):
            left = self.embed((Side.USER, user), self.policy.request_depth(Side.USER))
            right = self.embed((Side.ITEM, item), self.policy.request_depth(Side.ITEM))
            possible.append(left is not None and right is not None)
            left = self.chain.prior(Side.USER) if left is None else left
            right = self.chain.prior(Side.ITEM) if right is None else right
            if left is None or right is None:
                estimates.append(self.chain.mean)
            else:
                estimates.append(self.chain.head.estimate(left, right))
        return torch.stack(estimates), possible

    def embed(self, entity: Entity, depth: int = 0, asker: Entity | None = None) -> Tensor | None:
        """The embedding of `entity` as evidence for `asker`; None if there is none."""
        value = self._embed(entity, depth, asker)
        self.requests += 1
        self.failed += value is None
        return value

    def _embed(self, entity: Entity, depth: int, asker: Entity | None) -> Tensor | None:
        side, index = entity
        if index == UNKNOWN:
            return None
        slot = int(self.pool.sides[side].slot[index])
        if slot >= 0 and self.policy.stored(depth):
            stored: Tensor = self.chain.prototypes[side][slot]
            return stored
        if depth >= self.policy.max_depth:
            return None
        key = (entity, depth, asker if self.policy.cycle_blocking else None)
        if self.policy.caching and key in self._cache:
            self.cache_hits += 1
            return self._cache[key]
        value = self._generate(entity, depth, asker)
        if self.policy.caching:
            self._cache[key] = value
        return value

    def _generate(self, entity: Entity, depth: int, asker: Entity | None) -> Tensor | None:
        side, index = entity
        parts, links = [], []
        others, ratings = selected(
            self.pool, self.policy, side, index, depth, self.seed, self.hidden
        )
        for other, rating in zip(others.tolist(), torch.from_numpy(ratings), strict=True):
            evidence = (side.opposite, other)
            # Of the call stack only the asker matters: the policy limits the depth, so entities
            # further up could be met only at depth MD, where there are prototypes alone.
            if self.policy.cycle_blocking and evidence == asker:
                continue
            embedding = self.embed(evidence, depth + 1, entity)
            if embedding is not None:
                parts.append(embedding)
                links.append(rating)
        if not parts:
            return None
        self.generated += 1
        made: Tensor = self.chain.generator(side, depth)(torch.stack(parts), torch.stack(links))
        return made
