"""A trained chain on a graph, and what it answers, by index."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
import torch

from evichain.evidence.guest import guest_evidence
from evichain.evidence.pool import Pool
from evichain.evidence.trace import Trace
from evichain.kernels import Flags, Floats, Ints
from evichain.model.chain import Chain
from evichain.model.inference import embeddings, estimates
from evichain.model.tracing import trace
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import Settings

Names = Sequence[object] | pl.Series


@dataclass
class Engine:
    """Answers questions from embeddings that it generates once and keeps."""

    chain: Chain
    pool: Pool
    settings: Settings

    @property
    def graph(self) -> Graph:
        return self.pool.graph

    def extended(self, ratings: Ratings) -> "Engine":
        """The engine with these ratings too; the chain and its prototypes stay."""
        pool = Pool.of(self.graph.extended(ratings), self.pool.ids)
        return Engine(self.chain, pool, self.settings)

    @cached_property
    def items(self) -> tuple[Floats, Flags]:
        """The embedding of every item, and whether there is one."""
        everything = np.arange(len(self.graph.ids[Side.ITEM]), dtype=np.int32)
        return self._embeddings(Side.ITEM, everything)

    def user(self, index: int) -> Floats | None:
        """The embedding of a user, if there is one."""
        found, there = self._embeddings(Side.USER, np.array([index], np.int32))
        return found[0] if there[0] else None

    def estimates(
        self, pairs: Sequence[Ints], names: Sequence[Names]
    ) -> tuple[Floats, list[str | None]]:
        """The prediction for each (user, item) pair, and why it is impossible where it is.

        Args:
            names: what the users and the items were called by who asks.
        """
        found, there = estimates(self.chain, self.pool, self.settings.policy, pairs)
        reasons: list[str | None] = [None] * len(found)
        for row in np.flatnonzero(~(there[0] & there[1])).tolist():
            reasons[row] = "; ".join(
                self._obstacle(side, int(pairs[side][row]), names[side][row])
                for side in Side
                if not there[side][row]
            )
        return found, reasons

    def _obstacle(self, side: Side, index: int, name: object) -> str:
        if index == UNKNOWN:
            return f"unknown {side.noun} {name!r}"
        return (
            f"no chain of evidence from {side.noun} {name!r} "
            f"to a prototype within depth {self.settings.max_depth}"
        )

    def _embeddings(self, side: Side, entities: Ints) -> tuple[Floats, Flags]:
        return embeddings(self.chain, self.pool, self.settings.policy, side, entities)

    def guest(self, items: Ints, ratings: Floats) -> Floats | None:
        """The embedding of a user with these ratings who is in no graph, if there is one."""
        policy = self.settings.policy
        if policy.max_depth == 0 or not len(items):
            return None
        chosen, links = guest_evidence(self.pool, policy, Side.USER, items, ratings)
        below, there = embeddings(self.chain, self.pool, policy, Side.ITEM, chosen, depth=1)
        if not there.any():
            return None
        with torch.inference_mode():
            parts = self.chain.generator(Side.USER)(
                torch.from_numpy(below[there]), torch.from_numpy(links[there])
            )
        vector: Floats = parts.mean(dim=0).numpy()
        return vector

    def trace(self, user: int, item: int, *, pieces: int, depth: int) -> Trace:
        """The evidence behind a possible prediction."""
        policy = self.settings.policy
        return trace(self.chain, self.pool, policy, user, item, pieces=pieces, depth=depth)


def best(scores: Floats, n: int) -> list[int]:
    """The places of the n highest scores, highest first; -inf is never among them.

    >>> best(np.array([1, 3, -np.inf, 2], np.float32), 9)
    [1, 3, 0]
    """
    n = min(max(n, 0), len(scores))
    if not n:
        return []
    top = np.argpartition(-scores, n - 1)[:n]
    top = top[np.lexsort((top, -scores[top]))]
    return [int(i) for i in top if np.isfinite(scores[i])]
