"""A trained chain on a graph: what the library answers from."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from evichain.answering.backend import Names, Row
from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.embeddings import embeddings
from evichain.model.evidence_source import EvidenceSource, PlanSource
from evichain.model.fold_in import FoldIn, fold_in_of
from evichain.model.inference import HeadOutput, head_outputs, read
from evichain.model.layers import Layer
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.rows import build_rows
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import Settings

_NOBODY: Row = (np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass
class GraphBackend:
    """Embeddings are generated when they are asked for; those of the items are kept."""

    chain: Chain
    pool: Pool
    settings: Settings

    @property
    def graph(self) -> Graph:
        return self.pool.graph

    @property
    def scale(self) -> Scale:
        return self.graph.scale

    @cached_property
    def policy(self) -> Policy:
        return self.settings.policy

    @cached_property
    def fold_in(self) -> FoldIn | None:
        return fold_in_of(self.chain)

    @cached_property
    def items(self) -> HeadOutput:
        rows, has_embedding = self._item_layer.rows, self._item_layer.has_embedding
        unknown = np.zeros((1, rows.shape[1]), np.float32), np.zeros(1, np.bool_)
        joined = (np.concatenate(pair) for pair in zip((rows, has_embedding), unknown, strict=True))
        return read(self.chain, Side.ITEM, *joined)

    @cached_property
    def _item_layer(self) -> Layer:
        """The requested embeddings of all items."""
        everything = np.arange(len(self.graph.ids[Side.ITEM]), dtype=np.int32)
        return Layer(*embeddings(self.chain, self.pool, self.policy, Side.ITEM, everything))

    def extended(self, ratings: Ratings) -> "GraphBackend":
        """The same chain and prototypes, with these ratings too."""
        return self._on(self.graph.extended(ratings))

    def reduced(self, pairs: tuple[Ints, Ints]) -> "GraphBackend":
        """The same chain and prototypes, without the ratings of these (user, item) pairs."""
        return self._on(self.graph.reduced(pairs))

    def _on(self, graph: Graph) -> "GraphBackend":
        return GraphBackend(self.chain, Pool.of(graph, self.pool.ids), self.settings)

    def indices(self, side: Side, identifiers: Names) -> Longs:
        found = self.graph.ids[side].index(identifiers).astype(np.int64)
        indptr, known = self.graph.rows[side].indptr, np.maximum(found, 0)
        if not len(indptr[1:]):
            return found
        return np.where(indptr[known + 1] > indptr[known], found, UNKNOWN)

    def identifier(self, side: Side, index: int) -> Id:
        return self.graph.ids[side][index]

    def title(self, item: Id) -> str:
        native = self.graph.ids[Side.ITEM].native(item)
        return self.graph.title(item if native is None else native)

    def row(self, side: Side, index: int) -> Row:
        if index == UNKNOWN:
            return _NOBODY
        others, codes = self.graph.rows[side].row(index)
        return others, self.scale.decode(codes)

    def guest_row(self, items: Ints, ratings: Floats) -> Row:
        own, keys = np.zeros(len(items), np.int32), np.zeros(1, np.uint64)
        other_keys = self.graph.ids[Side.ITEM].keys
        rows = build_rows(Side.USER, own, items, ratings, keys, other_keys)
        return rows.indices, rows.codes.astype(np.float32)

    def slots(self, side: Side, indices: Ints | Longs) -> Ints:
        slots: Ints = self.pool.sides[side].slot[indices]
        return slots

    def outputs(self, side: Side, indices: Ints | Longs) -> HeadOutput:
        return head_outputs(self.chain, self.pool, self.policy, side, indices.astype(np.int32))

    def embeddings(self, side: Side, depth: int, indices: Ints | Longs) -> Layer:
        if side is Side.ITEM and depth == self.policy.request_depth(side):
            # In staggered towers these are the evidence of every user.
            return Layer(self._item_layer.rows[indices], self._item_layer.has_embedding[indices])
        entities = indices.astype(np.int32)
        return Layer(*embeddings(self.chain, self.pool, self.policy, side, entities, depth=depth))

    def evidence_source(self, user: int, item: int) -> EvidenceSource:
        one = (np.array([index], np.int32) for index in (user, item))
        plan = make_plan(self.pool, self.policy, *one)
        with torch.no_grad():
            return PlanSource(self.pool, plan, self.chain.rows(plan))
