"""One version of everything, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from evichain.errors import DataError
from evichain.evidence.choice import choose
from evichain.evidence.policy import Policy
from evichain.kernels import Flags, Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.fold_in import FoldIn
from evichain.model.inference import HeadOutput, read
from evichain.model.layers import Layer
from evichain.protocol import Prediction
from evichain.ranking import alike, highest
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.rows import Rows
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.service.live.id_index import IdIndex
from evichain.service.live.layers import LiveLayers
from evichain.service.live.rows import NOBODY, LiveRows, Row, merged

_NO_KEY = np.zeros(1, np.uint64)


@dataclass(frozen=True)
class Snapshot:
    """Ratings and embeddings at a version; immutable, so that any thread may ask it anything.

    Attributes:
        version: that of the last change it holds.
        settled: that of the last change that everyone's embedding holds.
        items: what the head makes of every item; the last one is a stranger, so that UNKNOWN
            finds it.
    """

    version: int
    settled: int
    chain: Chain
    fold_in: FoldIn | None
    policy: Policy
    scale: Scale
    ids: tuple[IdIndex, IdIndex]
    rows: tuple[LiveRows, LiveRows]
    layers: LiveLayers
    items: HeadOutput

    def index(self, side: Side, identifier: object) -> int:
        """The index of an id; UNKNOWN when it has no ratings."""
        found = self.ids[side].index(identifier)
        return found if found != UNKNOWN and self.rows[side].count(found) else UNKNOWN

    def row(self, side: Side, index: int) -> Row:
        """What someone rated, or was rated by; nothing of UNKNOWN."""
        return self.rows[side].row(len(self.rows[side]) if index == UNKNOWN else index)

    def user(self, row: Row) -> HeadOutput:
        """What the head makes of a user with these ratings."""
        chosen, links = self.evidence(Side.USER, row)
        if self.fold_in is not None and len(chosen):
            made = self.fold_in.row(self.layers[1, Side.ITEM].rows.take(chosen), links)
            return self.fold_in.end(made)
        found = self.user_layer(row)
        return read(self.chain, Side.USER, found.rows, found.has_embedding)

    def stored_user(self, index: int) -> HeadOutput:
        """What the head makes of a user."""
        stored = self.stored_layer(index)
        if stored is None:
            return self.user(self.row(Side.USER, index))
        return read(self.chain, Side.USER, stored.rows, stored.has_embedding)

    def guest_row(self, items: Sequence[int] | Longs, ratings: Sequence[float] | Floats) -> Row:
        """The row of someone who is in no store."""
        new = np.asarray(items, np.int32), np.asarray(ratings, np.float32)
        keys = self.ids[Side.ITEM].keys
        found: Row = merged(int(Side.USER), _NO_KEY[0], keys, *NOBODY, *new)
        return found

    def estimates(self, user: HeadOutput, items: Longs) -> tuple[Floats, Floats | None, Flags]:
        """The estimates of some items for one user, their deviations, and which have a chain.

        UNKNOWN among the items are strangers.
        """
        found = self.items.vectors[items] @ user.vectors[0]
        found[~(user.answerable[0] & self.items.answerable[items])] = self.chain.mean.item()
        stds = user.stds(self.items, items)
        return self._within(found), stds, user.has_embedding[0] & self.items.has_embedding[items]

    def best(
        self, user: HeadOutput, n: int, seen: Longs | Ints, caution: float = 0.0
    ) -> tuple[Longs, Floats, Floats | None]:
        """The n items with the highest estimates, but for those seen; estimates, deviations.

        Args:
            caution: rank by the estimate less so many deviations.

        Raises:
            DataError: caution, where the model tells no deviations.
        """
        if not user.answerable[0] or n < 1:
            return np.empty(0, np.int64), np.empty(0, np.float32), None
        estimates = scores = self.items.vectors @ user.vectors[0]
        if caution:
            log_stds = user.stds(self.items)
            if log_stds is None:
                raise DataError(
                    "this model tells no deviations to be cautious of", right="Leave caution out."
                )
            scores = estimates - np.float32(caution) * log_stds
        found = highest(scores, self.items.has_embedding, seen, n)
        stds = user.stds(self.items, found)
        return found, self._within(estimates[found]), stds

    def prediction(self, estimate: float, std: float | None) -> Prediction:
        """An estimate as a prediction on this scale."""
        bounds = (self.scale.low, self.scale.high) if self.chain.head.bounded else None
        return Prediction(estimate, None, std, bounds)

    def similar(self, item: int, n: int) -> tuple[Longs, Floats]:
        """The n items most like another, and how alike they are."""
        embeddings, has_embedding = self.items.embeddings, self.items.has_embedding
        if item == UNKNOWN or not has_embedding[item]:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        return alike(embeddings, has_embedding, item, n)

    def stored_layer(self, index: int) -> Layer | None:
        """What a prototype user has stored, if that is what they answer with."""
        if index == UNKNOWN or not self.policy.stored(0):
            return None
        slot = int(self.ids[Side.USER].slot[index])
        if slot < 0:
            return None
        kept = self.chain.prototypes[Side.USER][slot : slot + 1].detach().numpy()
        return Layer(kept, np.ones(1, np.bool_))

    def user_layer(self, row: Row) -> Layer:
        """The embedding of a user with these ratings."""
        size = self.chain.prototypes[Side.USER].shape[1]
        nothing = Layer(np.zeros((1, size), np.float32), np.zeros(1, np.bool_))
        chosen, links = self.evidence(Side.USER, row)
        if not len(chosen):
            return nothing
        parts = self.layers[1, Side.ITEM].take(chosen).rows, links
        with torch.inference_mode():
            made = self.chain.generator(Side.USER, 0)(*map(torch.from_numpy, parts))
        return Layer(made.numpy()[np.newaxis], np.ones(1, np.bool_))

    def evidence(self, side: Side, row: Row, depth: int = 0) -> Row:
        """What of a row is evidence at a depth, and has an embedding below."""
        others, ratings = row
        below, bottom = depth + 1, self.policy.max_depth
        if below > bottom:
            return others[:0], ratings[:0]
        if below < bottom and len(others) <= self.policy.limit(depth):
            # There is nothing to choose.
            has_embedding: Flags = self.layers[below, side.opposite].has_embedding.take(others)
            return row if has_embedding.all() else (others[has_embedding], ratings[has_embedding])
        rows = Rows(np.array([0, len(others)]), np.arange(len(others), dtype=np.int32), ratings)
        slot = self.ids[side.opposite].slot[others]
        found = choose(rows, ratings, _NO_KEY, slot, self.policy, side, depth)
        chosen = others[found.others]
        has_embedding = self.layers[below, side.opposite].has_embedding.take(chosen)
        return chosen[has_embedding], found.ratings[has_embedding]

    def _within(self, estimates: Floats) -> Floats:
        return self.scale.within(estimates) if self.chain.head.bounded else estimates


def all_ends(chain: Chain, made: Layer) -> HeadOutput:
    """What the head makes of every item, and at the end of a stranger."""
    rows = np.concatenate([made.rows, np.zeros_like(made.rows, shape=(1, made.rows.shape[1]))])
    return read(chain, Side.ITEM, rows, np.append(made.has_embedding, False))


def patched(ends: HeadOutput, places: Longs, length: int, new: HeadOutput) -> HeadOutput:
    """What the head makes of `length` items, some of them new or other than before."""

    def grown(old: np.ndarray, fresh: np.ndarray) -> np.ndarray:
        out = np.empty((length + 1, *old.shape[1:]), old.dtype)
        out[: len(old)] = old
        out[-1] = old[-1]
        out[places] = fresh
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
