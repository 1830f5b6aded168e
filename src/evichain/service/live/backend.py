"""The backend of the service: a snapshot of the live engine, with titles."""

from dataclasses import dataclass

import numpy as np

from evichain.answering.backend import Names, Row
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
from evichain.service.live.snapshot import Snapshot
from evichain.service.live.title_index import TitleIndex


@dataclass(frozen=True)
class LiveBackend:
    """Immutable, so that any thread may use it; make one for each request."""

    snapshot: Snapshot
    titles: TitleIndex

    @property
    def chain(self) -> Chain:
        return self.snapshot.chain

    @property
    def policy(self) -> Policy:
        return self.snapshot.policy

    @property
    def scale(self) -> Scale:
        return self.snapshot.scale

    @property
    def fold_in(self) -> FoldIn | None:
        return self.snapshot.fold_in

    @property
    def items(self) -> HeadOutput:
        return self.snapshot.items

    def indices(self, side: Side, identifiers: Names) -> Longs:
        return np.array([self.snapshot.index(side, one) for one in identifiers], np.int64)

    def identifier(self, side: Side, index: int) -> Id:
        return self.snapshot.ids[side][index]

    def title(self, item: Id) -> str:
        return self.titles.title(item)

    def row(self, side: Side, index: int) -> Row:
        return self.snapshot.row(side, index)

    def guest_row(self, items: Ints, ratings: Floats) -> Row:
        return self.snapshot.guest_row(items, ratings)

    def slots(self, side: Side, indices: Ints | Longs) -> Ints:
        slots: Ints = self.snapshot.ids[side].slot[indices]
        return slots

    def outputs(self, side: Side, indices: Ints | Longs) -> HeadOutput:
        if side is Side.ITEM:
            return self.items.take(indices)
        return HeadOutput.joined([self._user(index) for index in indices.tolist()])

    def embeddings(self, side: Side, depth: int, indices: Ints | Longs) -> Layer:
        return self.snapshot.layers[depth, side].take(indices)

    def evidence_source(self, user: int, item: int) -> None:
        return None

    def ratings_of(self, item: Id) -> int:
        """The number of ratings of an item."""
        index = self.snapshot.index(Side.ITEM, item)
        return 0 if index == UNKNOWN else self.snapshot.rows[Side.ITEM].count(index)

    def search(self, text: str, n: int) -> list[Id]:
        """The items whose titles contain every word of a text."""
        return self.titles.search(text, n, self.ratings_of)

    def _user(self, index: int) -> HeadOutput:
        if index != UNKNOWN and self.policy.stored(0):
            stored = stored_layer(self.chain, Side.USER, self.slots(Side.USER, np.array([index])))
            if stored.has_embedding[0]:
                return read(self.chain, Side.USER, stored.rows, stored.has_embedding)
        return user_output(self, self.row(Side.USER, index))
