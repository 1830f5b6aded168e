"""Blocks: some entities of a side with all their evidence, packed into one row of a table."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from evichain.evidence.bulk_selection import select_for_all
from evichain.evidence.policy import Policy
from evichain.kernels import Floats, Ints, Keys, Longs
from evichain.model.layers import Layer, layer, stored_layer
from evichain.ratings.rows import Rows
from evichain.ratings.side import Side
from evichain.spark.columns import from_bytes, whole
from evichain.spark.links import RATING, limit_links
from evichain.spark.shared import Shared

ARRAYS = {
    "keys": np.uint64,
    "slots": np.int32,
    "source_slots": np.int32,
    "ptr": np.int64,
    "indices": np.int32,
    "ratings": np.float32,
}
"""The arrays of a block and their types."""


def block_schema(own: str, other: str) -> str:
    """Spark's schema of a packed block, given the types of ids."""
    arrays = ", ".join(f"{name} binary" for name in ARRAYS)
    return f"block int, ids array<{own}>, sources array<{other}>, {arrays}"


@dataclass(frozen=True)
class EntityBlock:
    """Rows of entities in hash order, and the sources that they refer to by index.

    Attributes:
        ids, keys, slots: of the entities: ids, stable keys, prototype numbers or -1.
        sources, source_slots: the same for their evidence, on the opposite side.
        ptr, indices, ratings: entity i has `indices[ptr[i]:ptr[i + 1]]` as evidence.
    """

    ids: pa.Array
    sources: pa.Array
    keys: Keys
    slots: Ints
    source_slots: Ints
    ptr: Longs
    indices: Ints
    ratings: Floats

    @classmethod
    def build(cls, shared: Shared, side: Side, table: pa.Table) -> Self:
        """The block of all links in a table (see `limit_links`)."""
        links = limit_links(shared, side, table)
        named, indices = np.unique(links.indices, return_inverse=True)
        ratings = whole(table[RATING]).to_numpy(zero_copy_only=False)[links.positions]
        return cls(
            ids=links.ids,
            sources=links.others.take(pa.array(named)),
            keys=links.keys,
            slots=links.slots,
            source_slots=links.other_slots[named],
            ptr=links.ptr,
            indices=indices.astype(np.int32),
            ratings=ratings.astype(np.float32),
        )

    def packed(self, number: int) -> pa.Table:
        """The block as one row."""
        columns = {
            "block": pa.array([number], pa.int32()),
            "ids": _listed(self.ids),
            "sources": _listed(self.sources),
        }
        for name in ARRAYS:
            columns[name] = pa.array([getattr(self, name).tobytes()], pa.binary())
        return pa.table(columns)

    @classmethod
    def unpacked(cls, row: pa.Table | pa.RecordBatch) -> Self:
        """The block in one row."""
        # Copies, because kernels would be compiled again for read-only arrays.
        arrays = {
            name: np.frombuffer(row.column(name)[0].as_buffer(), kind).copy()
            for name, kind in ARRAYS.items()
        }
        return cls(row.column("ids")[0].values, row.column("sources")[0].values, **arrays)

    def needed(self, policy: Policy, side: Side, depth: int) -> Ints:
        """The positions of the sources that are evidence at a depth."""
        rows = Rows(self.ptr, self.indices, self.ratings)
        chosen = select_for_all(
            rows, self.ratings, self.keys, self.source_slots, policy, side, depth
        )
        return np.unique(chosen.others)

    def generated(
        self, shared: Shared, side: Side, depth: int, sent: pa.Table | None = None
    ) -> Layer:
        """The embeddings of the block's entities at a depth.

        Args:
            sent: embeddings of sources one depth below, by `position`; None at the deepest
                generated depth, where the sources are stored prototypes.
        """
        chain, policy = shared.chain, shared.policy
        if depth >= policy.max_depth:
            return stored_layer(chain, side, self.slots)
        if sent is None:
            below = stored_layer(chain, side.opposite, self.source_slots)
        else:
            width = shared.width(side.opposite)
            below = Layer(
                np.zeros((len(self.sources), width), np.float32),
                np.zeros(len(self.sources), np.bool_),
            )
            positions = whole(sent["position"]).to_numpy(zero_copy_only=False)
            below.rows[positions], below.has_embedding[positions] = from_bytes(sent["row"], width)
        rows, slots = Rows(self.ptr, self.indices, self.ratings), (self.slots, self.source_slots)
        return layer(chain, policy, side, depth, rows, self.ratings, self.keys, slots, below)


def _listed(ids: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array([0, len(ids)], pa.int32()), ids)
