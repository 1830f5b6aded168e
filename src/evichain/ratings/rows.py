"""Compressed rows of one side, each in the order of its pairs' hashes.

The order is what makes the choice of evidence cheap and stable: the first k of a row are
the k smallest hashes, a uniform sample that a new rating changes in at most one place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evichain.kernels import Codes, Floats, Ints, Keys, Longs, in_threads, kernel
from evichain.ratings.hashing import pair_hash


@dataclass(frozen=True)
class Rows:
    """Row i holds `indices[indptr[i]:indptr[i + 1]]` with their `codes`.

    Where all codes are 0, as those of interactions of one weight, they are one byte that is seen
    as an array (see `without_codes`).
    """

    indptr: Longs
    indices: Ints
    codes: Codes

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def degrees(self) -> Longs:
        """How many ratings each entity has."""
        return np.diff(self.indptr)

    def row(self, index: int) -> tuple[Ints, Codes]:
        """The opposite indices and the codes of one entity."""
        window = slice(self.indptr[index], self.indptr[index + 1])
        return self.indices[window], self.codes[window]

    @property
    def nbytes(self) -> int:
        codes = self.codes.nbytes if self.codes.strides[0] else self.codes.itemsize
        return self.indptr.nbytes + self.indices.nbytes + codes

    def without_codes(self) -> "Rows":
        """The same rows with code 0 throughout, which takes a byte in all."""
        zero = np.zeros(1, np.uint8)
        return replace(self, codes=np.broadcast_to(zero, len(self.indices)))


def build_rows(
    side: int, own: Ints, other: Ints, codes: Codes, own_keys: Keys, other_keys: Keys
) -> Rows:
    """Rows from parallel arrays of pairs, each pair once."""
    indptr = np.zeros(len(own_keys) + 1, np.int64)
    np.cumsum(np.bincount(own, minlength=len(own_keys)), out=indptr[1:])
    indices, stored = np.empty_like(other, dtype=np.int32), np.empty_like(codes)
    _scatter(own, other, codes, indptr[:-1].copy(), indices, stored)
    in_threads(_order, len(own_keys), side, indptr, indices, stored, own_keys, other_keys)
    return Rows(indptr, indices, stored)


def merge_rows(side: int, old: Rows, new: Rows, own_keys: Keys, other_keys: Keys) -> Rows:
    """The union of two sets of rows; where both have a pair, the new one's rating holds."""
    old_ptr = np.pad(old.indptr, (0, len(own_keys) - len(old)), mode="edge")
    indptr = np.zeros(len(own_keys) + 1, np.int64)
    parts = (old_ptr, old.indices, old.codes, new.indptr, new.indices, new.codes)
    _merge(side, *parts, own_keys, other_keys, indptr, old.indices[:0].copy(), old.codes[:0].copy())
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], np.int32)
    codes = np.empty(indptr[-1], old.codes.dtype)
    _merge(side, *parts, own_keys, other_keys, indptr, indices, codes)
    return Rows(indptr, indices, codes)


def check_rows(rows: Sequence[Rows], keys: Sequence[Keys], levels: Floats) -> None:
    """Refuse loaded rows that are invalid, because kernels do not check bounds.

    Raises:
        ValueError: what does not fit.
    """
    for own, other in ((0, 1), (1, 0)):
        part = rows[own]
        ptr, indices, codes = part.indptr, part.indices, part.codes
        kinds = (np.int64, np.int32, np.uint8 if len(levels) else np.float32, np.uint64)
        for array, kind in zip((ptr, indices, codes, keys[own]), kinds, strict=True):
            if array.dtype != kind or array.ndim != 1:
                raise ValueError(f"an array of {array.dtype} where one of {kind.__name__} belongs")
        if not len(ptr) == len(keys[own]) + 1 or not len(indices) == len(codes) == ptr[-1]:
            raise ValueError("arrays of lengths that do not fit each other")
        if ptr[0] != 0 or (np.diff(ptr) < 0).any():
            raise ValueError("offsets that do not ascend")
        if len(indices) and not 0 <= indices.min() <= indices.max() < len(keys[other]):
            raise ValueError("an index out of range")
        if len(levels) and len(codes) and codes.max() >= len(levels):
            raise ValueError("a level out of range")
    if len(rows[0].indices) != len(rows[1].indices):
        raise ValueError("two sides of different sizes")


@kernel
def _scatter(
    own: Ints, other: Ints, codes: Codes, cursor: Longs, indices: Ints, stored: Codes
) -> None:
    for i in range(len(own)):
        position = cursor[own[i]]
        cursor[own[i]] = position + 1
        indices[position] = other[i]
        stored[position] = codes[i]


@kernel
def _order(
    start: int,
    stop: int,
    side: int,
    indptr: Longs,
    indices: Ints,
    codes: Codes,
    own_keys: Keys,
    other_keys: Keys,
) -> None:
    for row in range(start, stop):
        lo, hi = indptr[row], indptr[row + 1]
        hashes = np.empty(hi - lo, np.uint64)
        for i in range(lo, hi):
            hashes[i - lo] = pair_hash(side, own_keys[row], other_keys[indices[i]])
        order = np.argsort(hashes)
        indices[lo:hi] = indices[lo:hi][order]
        codes[lo:hi] = codes[lo:hi][order]


@kernel
def _merge(
    side: int,
    a_ptr: Longs,
    a_idx: Ints,
    a_code: Codes,
    b_ptr: Longs,
    b_idx: Ints,
    b_code: Codes,
    own_keys: Keys,
    other_keys: Keys,
    indptr: Longs,
    indices: Ints,
    codes: Codes,
) -> None:
    """Merge row by row; with empty outputs, only count: row r's length goes to indptr[r + 1]."""
    filling = len(indices) > 0
    for row in range(len(own_keys)):
        i, i_stop = a_ptr[row], a_ptr[row + 1]
        j, j_stop = b_ptr[row], b_ptr[row + 1]
        start = indptr[row] if filling else 0
        position = start
        key = own_keys[row]
        if j == j_stop:
            if filling:
                indices[position : position + i_stop - i] = a_idx[i:i_stop]
                codes[position : position + i_stop - i] = a_code[i:i_stop]
            position += i_stop - i
            i = i_stop
        while i < i_stop or j < j_stop:
            a_hash = pair_hash(side, key, other_keys[a_idx[i]]) if i < i_stop else np.uint64(0)
            b_hash = pair_hash(side, key, other_keys[b_idx[j]]) if j < j_stop else np.uint64(0)
            take_new = i == i_stop or (j < j_stop and b_hash <= a_hash)
            if take_new:
                if i < i_stop and a_idx[i] == b_idx[j]:
                    i += 1
                if filling:
                    indices[position], codes[position] = b_idx[j], b_code[j]
                j += 1
            else:
                if filling:
                    indices[position], codes[position] = a_idx[i], a_code[i]
                i += 1
            position += 1
        if not filling:
            indptr[row + 1] = position - start
