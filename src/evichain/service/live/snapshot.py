"""A snapshot: one version of all ratings and embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evichain.evidence.policy import Policy
from evichain.kernels import Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.fold_in import FoldIn
from evichain.model.inference import HeadOutput, read
from evichain.model.layers import Layer
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.service.live.id_index import IdIndex
from evichain.service.live.layers import LiveLayers
from evichain.service.live.rows import EMPTY_ROW, LiveRows, Row, merged

_NO_KEY = np.zeros(1, np.uint64)


@dataclass(frozen=True)
class Snapshot:
    """Ratings and embeddings at a version; immutable, so that any thread may use it.

    Attributes:
        version: the version of its ratings.
        refreshed_version: the version of the ratings that all embeddings include.
        items: the head output of every item; the last row is for unknown items, because UNKNOWN
            is -1.
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

    def index(self, side: Side, identifier: object) -> int:
        """The index of an id; UNKNOWN if it has no ratings."""
        found = self.ids[side].index(identifier)
        return found if found != UNKNOWN and self.rows[side].count(found) else UNKNOWN

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

    log_stds = None
    if ends.log_stds is not None and new.log_stds is not None:
        log_stds = grown(ends.log_stds, new.log_stds)
    return replace(
        ends,
        vectors=grown(ends.vectors, new.vectors),
        embeddings=grown(ends.embeddings, new.embeddings),
        log_stds=log_stds,
        has_embedding=grown(ends.has_embedding, new.has_embedding),
        answerable=grown(ends.answerable, new.answerable),
    )
