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
from evichain.kernels import Floats, Ints
from evichain.listing import lists
from evichain.model.chain import Chain
from evichain.model.embeddings import embeddings
from evichain.model.inference import HeadOutput, ends, estimates, read
from evichain.model.tracing import trace
from evichain.progress import progress as progress_bar
from evichain.protocol import Predictions, Recommendation, Similar
from evichain.ranking import Pairs, alike, highest
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
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
    def items(self) -> HeadOutput:
        """What the head makes of every item."""
        everything = np.arange(len(self.graph.ids[Side.ITEM]), dtype=np.int32)
        return self._ends(Side.ITEM, everything)

    def user(self, index: int) -> HeadOutput:
        """What the head makes of a user."""
        return self.users(np.array([index], np.int32))

    def users(self, indices: Ints) -> HeadOutput:
        """What the head makes of users; UNKNOWN may be among them."""
        return self._ends(Side.USER, indices)

    def guest(self, items: Ints, ratings: Floats) -> HeadOutput:
        """What the head makes of a user with these ratings who is in no graph."""
        policy = self.settings.policy
        row = np.zeros((1, self.chain.prototypes[Side.USER].shape[1]), np.float32)
        has_embedding = np.zeros(1, np.bool_)
        if policy.max_depth and len(items):
            chosen, links = guest_evidence(self.pool, policy, Side.USER, items, ratings)
            below, alive = embeddings(self.chain, self.pool, policy, Side.ITEM, chosen, depth=1)
            if alive.any():
                with torch.inference_mode():
                    generator = self.chain.generator(Side.USER, 0)
                    parts = torch.from_numpy(below[alive]), torch.from_numpy(links[alive])
                    row[0] = generator(*parts).numpy()
                has_embedding[0] = True
        return read(self.chain, Side.USER, row, has_embedding)

    def estimates(self, pairs: Sequence[Ints], names: Sequence[Names]) -> Predictions:
        """The prediction for each (user, item) pair.

        Args:
            names: what the users and the items were called by who asks.
        """
        found, stds, has_embedding = estimates(self.chain, self.pool, self.settings.policy, pairs)
        reasons: list[str | None] = [None] * len(found)
        for row in np.flatnonzero(~(has_embedding[0] & has_embedding[1])).tolist():
            reasons[row] = "; ".join(
                self._obstacle(side, int(pairs[side][row]), names[side][row])
                for side in Side
                if not has_embedding[side][row]
            )
        return Predictions(found, reasons, stds, self.bounds)

    def best(
        self, asker: HeadOutput, n: int, seen: Ints, caution: float = 0.0
    ) -> list[Recommendation]:
        """The items that someone would rate highest, but for those seen.

        Args:
            caution: rank by the estimate less so many of its deviations.
        """
        if not asker.answerable[0]:
            return []
        items = self.items
        estimates, stds = items.vectors @ asker.vectors[0], asker.stds(items)
        scores = estimates
        if caution and stds is not None:
            scores = estimates - np.float32(caution) * stds
        shown = self.within_scale(estimates)
        return [
            Recommendation(
                *self._named(i, float(shown[i])),
                None if stds is None else float(stds[i]),
            )
            for i in highest(scores, items.has_embedding, seen, n).tolist()
        ]

    def alike(self, item: int, n: int) -> list[Similar]:
        """The items whose embeddings point most nearly the same way."""
        items = self.items
        if not items.has_embedding[item]:
            return []
        found, cosines = alike(items.embeddings, items.has_embedding, item, n)
        return [
            Similar(*self._named(i, cosine))
            for i, cosine in zip(found.tolist(), cosines.tolist(), strict=True)
        ]

    def lists(
        self, users: Ints, n: int, *, exclude_seen: bool = True, progress: bool = False
    ) -> pl.DataFrame:
        """The items that users would rate highest, as rows of one table."""
        names, titles = (ids.values for ids in self.graph.ids)
        nothing = np.empty(0, np.int64), np.empty(0, np.int32)
        seen = self._seen(users) if exclude_seen else nothing
        parts = []
        with progress_bar("Listing", len(users), enabled=progress, unit="users") as bar:
            for found in lists(self.users(users), self.items, seen, n):
                columns = {
                    "user_id": names[users[found.users]],
                    "rank": found.ranks,
                    "item_id": titles[found.items],
                    "estimate": self.within_scale(found.scores),
                    "std": found.stds,
                }
                parts.append(pl.DataFrame(columns, schema_overrides={"std": pl.Float32}))
                bar(found.asked)
        return pl.concat(parts)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The lowest and the highest estimate; None where the head knows no bounds."""
        scale = self.graph.scale
        return (scale.low, scale.high) if self.chain.head.bounded else None

    def within_scale(self, scores: Floats) -> Floats:
        """Scores as the estimates that are told."""
        return self.graph.scale.within(scores) if self.chain.head.bounded else scores

    def _named(self, index: int, score: float) -> tuple[Id, float, str]:
        item = self.graph.ids[Side.ITEM][index]
        return item, score, self.graph.title(item)

    def _obstacle(self, side: Side, index: int, name: object) -> str:
        known, depth = index != UNKNOWN, self.settings.max_depth
        return obstacle(side, name, known=known, max_depth=depth)

    def _ends(self, side: Side, entities: Ints) -> HeadOutput:
        return ends(self.chain, self.pool, self.settings.policy, side, entities)

    def _seen(self, users: Ints) -> Pairs:
        """What users have rated, as (place among these users, item); nothing of an UNKNOWN."""
        rows = self.graph.rows[Side.USER]
        first = np.where(users == UNKNOWN, 0, rows.indptr[users])
        counts = np.where(users == UNKNOWN, 0, rows.indptr[users + 1] - first)
        skipped = np.repeat(first - (np.cumsum(counts) - counts), counts)
        items = rows.indices[skipped + np.arange(len(skipped))]
        return np.repeat(np.arange(len(users)), counts), items

    def trace(self, user: int, item: int, *, pieces: int, depth: int) -> Trace:
        """The evidence behind a possible prediction."""
        policy = self.settings.policy
        return trace(self.chain, self.pool, policy, user, item, pieces=pieces, depth=depth)


def obstacle(side: Side, name: object, *, known: bool, max_depth: int) -> str:
    """Why there is no chain of evidence for an entity.

    >>> obstacle(Side.USER, "ann", known=False, max_depth=4)
    "unknown user 'ann'"
    """
    if not known:
        return f"unknown {side.noun} {name!r}"
    return f"no chain of evidence from {side.noun} {name!r} to a prototype within depth {max_depth}"
