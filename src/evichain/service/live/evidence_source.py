"""What stands behind a live prediction: places are indices of entities."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from evichain.kernels import Floats, Ints
from evichain.model.layers import Layer
from evichain.ratings.ids import Id
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side
from evichain.service.live.rows import Row
from evichain.service.live.snapshot import Snapshot

ASKER = -1
"""The place of the user asked about, who need not be in the store."""


@dataclass(frozen=True)
class SnapshotSource:
    """The embeddings below the prediction of an item for someone with these ratings.

    Attributes:
        name: what the user is called.
        stored: what the user has stored, being a prototype.
        title: the title of an item, by id.
    """

    snapshot: Snapshot
    name: Id
    asker: Row
    stored: Layer | None
    item: int
    title: Callable[[Id], str]

    @property
    def scale(self) -> Scale:
        return self.snapshot.scale

    def end(self, side: Side) -> int:
        return ASKER if side is Side.USER else self.item

    def embeddings(self, side: Side, depth: int, places: Ints) -> Tensor:
        if places.tolist() == [ASKER]:
            return torch.from_numpy((self.stored or self.snapshot.user_layer(self.asker)).rows)
        return torch.from_numpy(self.snapshot.layers[depth, side].take(places).rows)

    def links(self, side: Side, depth: int, place: int) -> tuple[Ints, Floats]:
        row = self.asker if place == ASKER else self.snapshot.row(side, place)
        return self.snapshot.evidence(side, row, depth)

    def who(self, side: Side, depth: int, place: int) -> tuple[Id, str, bool]:
        if place == ASKER:
            return self.name, str(self.name), self.stored is not None
        id_index = self.snapshot.ids[side]
        found = id_index[place]
        stored = bool(id_index.slot[place] >= 0) and self.snapshot.policy.stored(depth)
        return found, self.title(found) if side is Side.ITEM else str(found), stored
