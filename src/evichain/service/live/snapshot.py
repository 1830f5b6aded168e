"""A snapshot: one version of all ratings and embeddings, and the backend of the service."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evichain.answering.backend import Names
from evichain.answering.row_evidence import user_output
from evichain.evidence.policy import Policy
from evichain.kernels import Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.fold_in import FoldIn
from evichain.model.inference import HeadOutput, read
from evichain.model.layers import Layer, stored_layer
from evichain.ratings.ids import UNKNOWN, Id
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.service.live.id_index import IdIndex
from evichain.service.live.layers import LiveLayers
from evichain.service.live.rows import EMPTY_ROW, LiveRows, Row, merged
from evichain.service.live.title_index import NO_TITLES, TitleIndex

_NO_KEY = np.zeros(1, np.uint64)


@dataclass(frozen=True)
class Snapshot:
    """Ratings and embeddings at a version; immutable, so that any thread may use it.

    Attributes:
        version: the version of its ratings.
        refreshed_version: the version of the ratings that all embeddings include.
        items: the head output of every item; the last row is for unknown items, because UNKNOWN
            is -1.
        titles: those of items; the engine itself knows none.
    """

    version: int
    refreshed_version: int
    chain: Chain
    fold_in: FoldIn | None
    policy: Policy
    scale: Scale
    ids: tuple[IdIndex, IdIndex]
    rows: tuple[LiveRows, LiveRows]
    layers: LiveLayers
    items: HeadOutput
    titles: TitleIndex = NO_TITLES

    def index(self, side: Side, identifier: object) -> int:
        """The index of an id; UNKNOWN if it has no ratings."""
        found = self.ids[side].index(identifier)
        return found if found != UNKNOWN and self.rows[side].count(found) else UNKNOWN

    def indices(self, side: Side, identifiers: Names) -> Longs:
        return np.array([self.index(side, one) for one in identifiers], np.int64)

    def identifier(self, side: Side, index: int) -> Id:
        return self.ids[side][index]

    def title(self, item: Id) -> str:
        return self.titles.title(item)

    def row(self, side: Side, index: int) -> Row:
        """The ratings of one entity; empty for UNKNOWN."""
        return self.rows[side].row(len(self.rows[side]) if index == UNKNOWN else index)

    def guest_row(
        self, items: Sequence[int] | Ints | Longs, ratings: Sequence[float] | Floats
    ) -> Row:
        """The row of a guest."""
        new = np.asarray(items, np.int32), np.asarray(ratings, np.float32)
        keys = self.ids[Side.ITEM].keys
        found: Row = merged(int(Side.USER), _NO_KEY[0], keys, *EMPTY_ROW, *new)
        return found

    def slots(self, side: Side, indices: Ints | Longs) -> Ints:
        slots: Ints = self.ids[side].slot[indices]
        return slots

    def outputs(self, side: Side, indices: Ints | Longs) -> HeadOutput:
        if side is Side.ITEM:
            return self.items.take(indices)
        return HeadOutput.joined([self._user(index) for index in indices.tolist()])

    def embeddings(self, side: Side, depth: int, indices: Ints | Longs) -> Layer:
        return self.layers[depth, side].take(indices)

    def evidence_source(self, user: int, item: int) -> None:
        return None

    def ratings_of(self, item: Id) -> int:
        """The number of ratings of an item."""
        index = self.index(Side.ITEM, item)
        return 0 if index == UNKNOWN else self.rows[Side.ITEM].count(index)

    def search(self, text: str, n: int) -> list[Id]:
        """The items whose titles contain every word of a text."""
        return self.titles.search(text, n, self.ratings_of)

    def _user(self, index: int) -> HeadOutput:
        if index != UNKNOWN and self.policy.stored(0):
            stored = stored_layer(self.chain, Side.USER, self.slots(Side.USER, np.array([index])))
            if stored.has_embedding[0]:
                return read(self.chain, Side.USER, stored.rows, stored.has_embedding)
        return user_output(self, self.row(Side.USER, index))


def all_item_outputs(chain: Chain, made: Layer) -> HeadOutput:
    """The head output of every item, and at the end of an unknown item."""
    rows = np.concatenate([made.rows, np.zeros_like(made.rows, shape=(1, made.rows.shape[1]))])
    return read(chain, Side.ITEM, rows, np.append(made.has_embedding, False))


def patched(ends: HeadOutput, positions: Longs, length: int, new: HeadOutput) -> HeadOutput:
    """The head output of `length` items, with new rows of some."""

    def grown(old: np.ndarray, fresh: np.ndarray) -> np.ndarray:
        out = np.empty((length + 1, *old.shape[1:]), old.dtype)
        out[: len(old)] = old
        out[-1] = old[-1]
        out[positions] = fresh
        return out

    return ends.mapped(grown, new)
