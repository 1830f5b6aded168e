"""Embeddings as a table for others: what tells entities apart, and what estimates are made of."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evichain.kernels import Flags, Floats
from evichain.model.inference import read
from evichain.ratings.side import Side
from evichain.spark.columns import from_bytes
from evichain.spark.rounds import Bulk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def vectors(bulk: Bulk, side: Side) -> "DataFrame":
    """A side's entities: id, `embedding`, `vector` and `doubt`.

    The dot product of a user's and an item's vector is the estimate; `exp` of the sum of their
    doubts is the deviation expected. An embedding is null without a chain of evidence; a vector
    is that of the prior then, or null with a recipe that has none.
    """
    sent, name = bulk.sent, side.column

    def read_off(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shared = sent.value
        for batch in batches:
            rows, there = from_bytes(batch.column("row"), shared.width(side))
            ends = read(shared.chain, side, rows, there)
            nothing = pa.nulls(len(there), pa.float32())
            yield pa.RecordBatch.from_arrays(
                [
                    batch.column("id"),
                    _lists(rows, there),
                    _lists(ends.vectors, ends.told),
                    nothing if ends.doubts is None else pa.array(ends.doubts, mask=~ends.told),
                ],
                [name, "embedding", "vector", "doubt"],
            )

    schema = (
        f"{name} {bulk.source.id_type(side)}, embedding array<float>, vector array<float>, "
        "doubt float"
    )
    return bulk.embeddings(side).mapInArrow(read_off, schema)


def _lists(rows: Floats, there: Flags) -> pa.Array:
    ends = np.concatenate([[0], np.cumsum(there * rows.shape[1])]).astype(np.int32)
    values = pa.array(np.ascontiguousarray(rows[there]).ravel())
    return pa.ListArray.from_arrays(pa.array(ends), values, mask=pa.array(~there))
