"""What answering needs to know: a graph and a live snapshot both provide it."""

from collections.abc import Sequence
from typing import Protocol

import polars as pl

from evichain.evidence.policy import Policy
from evichain.kernels import Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.evidence_source import EvidenceSource
from evichain.model.fold_in import FoldIn
from evichain.model.inference import HeadOutput
from evichain.model.layers import Layer
from evichain.ratings.ids import Id
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side

Names = Sequence[object] | pl.Series

Row = tuple[Ints, Floats]
"""The ratings of one entity: opposite indices in the order of their hashes, and the values."""


class Backend(Protocol):
    """A trained chain over ratings. Entities are indices; UNKNOWN stands for any other."""

    @property
    def chain(self) -> Chain:
        """The trained model."""
        ...

    @property
    def policy(self) -> Policy:
        """The limits of the evidence."""
        ...

    @property
    def scale(self) -> Scale:
        """The scale that estimates are clipped to."""
        ...

    @property
    def fold_in(self) -> FoldIn | None:
        """The fast path for one user; None where the chain has none."""
        ...

    @property
    def items(self) -> HeadOutput:
        """The head's output for every item; the last row is the unknown item."""
        ...

    def indices(self, side: Side, identifiers: Names) -> Longs:
        """The indices of entities with ratings; UNKNOWN for any other."""
        ...

    def identifier(self, side: Side, index: int) -> Id:
        """The id of an entity."""
        ...

    def title(self, item: Id) -> str:
        """The title of an item; its id as text where it has none."""
        ...

    def row(self, side: Side, index: int) -> Row:
        """The ratings of an entity; none of UNKNOWN."""
        ...

    def guest_row(self, items: Ints, ratings: Floats) -> Row:
        """The row of someone who is not in the data."""
        ...

    def slots(self, side: Side, indices: Ints | Longs) -> Ints:
        """The prototype number of each entity, or -1."""
        ...

    def outputs(self, side: Side, indices: Ints | Longs) -> HeadOutput:
        """The head's output for some entities, UNKNOWN among them or not."""
        ...

    def embeddings(self, side: Side, depth: int, indices: Ints | Longs) -> Layer:
        """The embeddings of some entities at a depth."""
        ...

    def evidence_source(self, user: int, item: int) -> EvidenceSource | None:
        """The evidence behind a known pair; None where it is followed row by row."""
        ...
