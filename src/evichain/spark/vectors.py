"""Embeddings as a table for other programs: latent states, and vectors for estimates."""

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
    """A side's entities: id, `embedding`, `vector` and `log_std`.

    The dot product of a user's and an item's vector is the estimate; `exp` of the sum of their
    log_stds is the predicted std. Without a chain of evidence, the embedding is null and the
    vector is that of the prior, or null if the recipe has none.
    """
    sent, name = bulk.sent, side.column

    def read_off(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shared = sent.value
        for batch in batches:
            rows, has_embedding = from_bytes(batch.column("row"), shared.width(side))
            ends = read(shared.chain, side, rows, has_embedding)
            nothing = pa.nulls(len(has_embedding), pa.float32())
            yield pa.RecordBatch.from_arrays(
                [
                    batch.column("id"),
                    _lists(rows, has_embedding),
                    _lists(ends.vectors, ends.answerable),
                    nothing
                    if ends.log_stds is None
                    else pa.array(ends.log_stds, mask=~ends.answerable),
                ],
                [name, "embedding", "vector", "log_std"],
            )

    schema = (
        f"{name} {bulk.source.id_type(side)}, embedding array<float>, vector array<float>, "
        "log_std float"
    )
    return bulk.embeddings(side).mapInArrow(read_off, schema)


def _lists(rows: Floats, has_embedding: Flags) -> pa.Array:
    ends = np.concatenate([[0], np.cumsum(has_embedding * rows.shape[1])]).astype(np.int32)
    values = pa.array(np.ascontiguousarray(rows[has_embedding]).ravel())
    return pa.ListArray.from_arrays(pa.array(ends), values, mask=pa.array(~has_embedding))
