"""Conversions between Arrow columns and NumPy arrays."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evichain.kernels import Flags, Floats, Ints, Keys
from evichain.ratings.ids import stable_key


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as a single array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def numbered(column: pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    """The index of each id among the distinct ids, and the distinct ids."""
    encoded = whole(column).dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = whole(encoded)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32), encoded.dictionary


def keys_of(ids: pa.Array) -> Keys:
    """The stable key of each id."""
    return np.fromiter(map(stable_key, ids.to_pylist()), np.uint64, len(ids))


def positions_among(column: pa.ChunkedArray, ids: pa.Array) -> Ints:
    """The index of each id of a column among distinct ids; -1 if it is not there."""
    found = pc.fill_null(pc.index_in(whole(column), value_set=ids), -1)
    return np.asarray(whole(found).to_numpy(zero_copy_only=False), np.int32)


def as_bytes(rows: Floats, has_embedding: Flags) -> pa.Array:
    """Rows of numbers as binary values, null for no embedding; bytes are copied as they are."""
    width = rows.shape[1] * rows.itemsize
    data = pa.py_buffer(np.ascontiguousarray(rows))
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, data])
    return pc.if_else(
        pa.array(has_embedding), fixed.cast(pa.binary()), pa.scalar(None, pa.binary())
    )


def from_bytes(column: pa.ChunkedArray, width: int) -> tuple[Floats, Flags]:
    """The rows from binary values (zeros for null), and which are not null."""
    values = whole(column)
    has_embedding = np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    rows = np.zeros((len(values), width), np.float32)
    known = values.drop_null()
    if len(known):
        _, ends, data = known.buffers()
        first = int(np.frombuffer(ends, np.int32)[known.offset])
        flat = np.frombuffer(data, np.float32, len(known) * width, first)
        rows[has_embedding] = flat.reshape(-1, width)
    return rows, has_embedding
