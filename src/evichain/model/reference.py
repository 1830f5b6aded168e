"""The paper's recursion, as written there, with its complexity controls and counters.

Slow, and the oracle: whatever else computes embeddings must agree with it.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from evichain.evidence.counters import Counters
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import NO_PAIRS, STABLE, selected
from evichain.kernels import Ints, Longs
from evichain.model.chain import Chain
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side

Entity = tuple[Side, int]


@dataclass
class Recursion:
    """Predicts by recursion; one of these serves one gradient step (its cache is not wiped)."""

    chain: Chain
    pool: Pool
    policy: Policy
    seed: int = STABLE
    hidden: Longs = field(default_factory=lambda: NO_PAIRS)

    def __post_init__(self) -> None:
        self.requests = self.generated = self.failed = self.cache_hits = 0
        self._cache: dict[tuple[Entity, int, Entity | None], Tensor | None] = {}

    @property
    def counters(self) -> Counters:
        """What has been done so far."""
        return Counters(self.requests, self.generated, self.failed, self.cache_hits)

    def predict(self, users: Ints, items: Ints) -> tuple[Tensor, list[bool]]:
        """The predictions, and which of them are possible (the others are the mean)."""
        estimates, possible = [], []
        for user, item in zip(users.tolist(), items.tolist(), strict=True):
            left = self.embed((Side.USER, user))
            right = self.embed((Side.ITEM, item))
            possible.append(left is not None and right is not None)
            if left is None or right is None:
                estimates.append(self.chain.mean)
            else:
                estimates.append(left @ right)
        return torch.stack(estimates), possible

    def embed(self, entity: Entity, depth: int = 0, asker: Entity | None = None) -> Tensor | None:
        """The embedding of `entity` as evidence for `asker`; None is nothing."""
        value = self._embed(entity, depth, asker)
        self.requests += 1
        self.failed += value is None
        return value

    def _embed(self, entity: Entity, depth: int, asker: Entity | None) -> Tensor | None:
        side, index = entity
        if index == UNKNOWN:
            return None
        slot = int(self.pool.sides[side].slot[index])
        if slot >= 0:
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
        parts = []
        others, ratings = selected(
            self.pool, self.policy, side, index, depth, self.seed, self.hidden
        )
        for other, rating in zip(others.tolist(), torch.from_numpy(ratings), strict=True):
            evidence = (side.opposite, other)
            # Of the whole call stack only the asker can matter: the policy allows blocking up
            # to a depth at which those further up are met only where prototypes alone answer.
            if self.policy.cycle_blocking and evidence == asker:
                continue
            embedding = self.embed(evidence, depth + 1, entity)
            if embedding is None:
                continue
            parts.append(self.chain.generators[side](embedding, rating))
        if not parts:
            return None
        self.generated += 1
        return torch.stack(parts).mean(dim=0)
