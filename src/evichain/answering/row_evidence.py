"""The evidence in one row of ratings, and the embedding made from it: fold-in of an asker.

The row is that of a guest, or of a user with some ratings left out.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evichain.answering.backend import Backend, Row
from evichain.evidence.bulk_selection import select_for_all
from evichain.kernels import Floats, Ints
from evichain.model.inference import HeadOutput, read
from evichain.model.layers import Layer
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.rows import Rows
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side

_NO_KEY = np.zeros(1, np.uint64)


@dataclass(frozen=True)
class RowEvidence:
    """The ratings of a row that are evidence, with the embeddings of what was rated.

    Attributes:
        others: the opposite indices.
        embeddings: those of `others`, one depth below.
    """

    others: Ints
    ratings: Floats
    embeddings: Floats


def row_evidence(backend: Backend, side: Side, row: Row, depth: int = 0) -> RowEvidence:
    """Select the evidence in a row at a depth; entities without an embedding are dropped."""
    (others, ratings), policy = row, backend.policy
    below = depth + 1
    if below > policy.max_depth:
        others, ratings = others[:0], ratings[:0]
    elif below == policy.max_depth or len(others) > policy.limit(depth):
        rows = Rows(np.array([0, len(others)]), np.arange(len(others), dtype=np.int32), ratings)
        slots = backend.slots(side.opposite, others)
        found = select_for_all(rows, ratings, _NO_KEY, slots, policy, side, depth)
        others, ratings = others[found.others], found.ratings
    if not len(others):
        size = backend.chain.prototypes[side.opposite].shape[1]
        return RowEvidence(others, ratings, np.empty((0, size), np.float32))
    layer = backend.embeddings(side.opposite, below, others)
    kept = layer.has_embedding
    if kept.all():
        return RowEvidence(others, ratings, layer.rows)
    return RowEvidence(others[kept], ratings[kept], layer.rows[kept])


def user_embedding(backend: Backend, row: Row) -> Layer:
    """The depth-0 embedding of a user with these ratings."""
    return _embedding(backend, row_evidence(backend, Side.USER, row))


def user_output(backend: Backend, row: Row) -> HeadOutput:
    """The head's output for a user with these ratings."""
    evidence = row_evidence(backend, Side.USER, row)
    if backend.fold_in is not None and len(evidence.others):
        made = backend.fold_in.row(evidence.embeddings, evidence.ratings)
        return backend.fold_in.output(made)
    layer = _embedding(backend, evidence)
    return read(backend.chain, Side.USER, layer.rows, layer.has_embedding)


def _embedding(backend: Backend, evidence: RowEvidence) -> Layer:
    if not len(evidence.others):
        size = backend.chain.prototypes[Side.USER].shape[1]
        return Layer(np.zeros((1, size), np.float32), np.zeros(1, np.bool_))
    with torch.inference_mode():
        parts = map(torch.from_numpy, (evidence.embeddings, evidence.ratings))
        made = backend.chain.generator(Side.USER, 0)(*parts)
    return Layer(made.numpy()[np.newaxis], np.ones(1, np.bool_))


@dataclass(frozen=True)
class RowSource:
    """An `EvidenceSource` that starts from the ratings of an asker, one row at a time.

    Attributes:
        name: what the user is called.
        user_row: the user's ratings that count.
        stored: the stored embedding of a prototype user.
        item: the index of the item.
    """

    backend: Backend
    name: Id
    user_row: Row
    stored: Layer | None
    item: int

    @property
    def scale(self) -> Scale:
        return self.backend.scale

    def root(self, side: Side) -> int:
        return UNKNOWN if side is Side.USER else self.item

    def embeddings(self, side: Side, depth: int, positions: Ints) -> Tensor:
        if positions.tolist() == [UNKNOWN]:
            layer = self.stored or user_embedding(self.backend, self.user_row)
        else:
            layer = self.backend.embeddings(side, depth, positions)
        return torch.from_numpy(layer.rows)

    def links(self, side: Side, depth: int, position: int) -> tuple[Ints, Floats]:
        row = self.user_row if position == UNKNOWN else self.backend.row(side, position)
        found = row_evidence(self.backend, side, row, depth)
        return found.others, found.ratings

    def who(self, side: Side, depth: int, position: int) -> tuple[Id, str, bool]:
        if position == UNKNOWN:
            return self.name, str(self.name), self.stored is not None
        found = self.backend.identifier(side, position)
        slot = self.backend.slots(side, np.array([position], np.int32))[0]
        stored = bool(slot >= 0) and self.backend.policy.stored(depth)
        return found, self.backend.title(found) if side is Side.ITEM else str(found), stored
