"""Rows of a side that change: those of a graph, replaced by newer ones where they exist."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evichain.kernels import Codes, Flags, Floats, Ints, Keys, Longs, kernel
from evichain.ratings.graph import Graph
from evichain.ratings.hashing import pair_hash
from evichain.ratings.rows import Rows
from evichain.ratings.side import Side
from evichain.service.live.paged_array import PagedArray

Row = tuple[Ints, Floats]
"""Opposite indices in hash order, and the ratings."""

Changes = Mapping[int, Mapping[int, float | None]]
"""New ratings by entity and opposite entity; None removes one."""

EMPTY_ROW: Row = (np.empty(0, np.int32), np.empty(0, np.float32))
_EVERYTHING = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class LiveRows:
    """One version of a side's rows."""

    side: Side
    graph: Graph
    newer: PagedArray

    @classmethod
    def of(cls, graph: Graph, side: Side) -> "LiveRows":
        """The rows of a graph."""
        return cls(side, graph, PagedArray.of(np.full(len(graph.rows[side]), None, object)))

    def __len__(self) -> int:
        return len(self.newer)

    def row(self, index: int) -> Row:
        """The row of one entity."""
        newer = self._newer(index)
        if newer is not None:
            return newer
        others, codes = self.graph.rows[self.side].row(index)
        return others, self.graph.scale.decode(codes)

    def count(self, index: int) -> int:
        """The number of ratings of one entity."""
        newer = self._newer(index)
        if newer is not None:
            return len(newer[0])
        ptr = self.graph.rows[self.side].indptr
        return int(ptr[index + 1] - ptr[index])

    def gather(self, indices: Longs) -> Rows:
        """The rows of some entities as rows of their own; codes are the ratings."""
        newer = [self._newer(index) for index in indices.tolist()]
        rows, scale = self.graph.rows[self.side], self.graph.scale
        old = np.array([row is None for row in newer], np.bool_)
        lengths = np.array([0 if row is None else len(row[0]) for row in newer], np.int64)
        lengths[old] = rows.indptr[indices[old] + 1] - rows.indptr[indices[old]]
        ptr = np.zeros(len(indices) + 1, np.int64)
        np.cumsum(lengths, out=ptr[1:])
        others, codes = np.zeros(ptr[-1], np.int32), np.zeros(ptr[-1], rows.codes.dtype)
        copied(ptr, old, rows.indptr, rows.indices, rows.codes, indices, others, codes)
        ratings = scale.decode(codes)
        for position in (~old).nonzero()[0].tolist():
            here = slice(ptr[position], ptr[position + 1])
            others[here], ratings[here] = newer[position] or EMPTY_ROW
        return Rows(ptr, others, ratings)

    def _newer(self, index: int) -> Row | None:
        """The newer row of one entity; None if that of the graph holds."""
        newer: Row | None = self.newer[index] if index < len(self) else EMPTY_ROW
        return EMPTY_ROW if newer is None and index >= len(self.graph.rows[self.side]) else newer

    def changed(self, changes: Changes, keys: Keys, other_keys: Keys) -> "LiveRows":
        """The next version, with these ratings by (entity, opposite entity); None removes one."""
        touched = np.array(sorted(changes), np.int64)
        fresh = np.empty(len(touched), object)
        for position, index in enumerate(touched.tolist()):
            new = changes[index]
            others = np.fromiter(new, np.int32, len(new))
            values = [np.nan if rating is None else rating for rating in new.values()]
            fresh[position] = merged(
                int(self.side),
                keys[index],
                other_keys,
                *self.row(index),
                others,
                np.array(values, np.float32),
            )
        newer = self.newer.grown(len(keys)).changed(touched, fresh)
        return LiveRows(self.side, self.graph, newer)


@kernel
def merged(
    side: int,
    key: np.uint64,
    other_keys: Keys,
    others: Ints,
    ratings: Floats,
    new_others: Ints,
    new_ratings: Floats,
) -> Row:
    """A row with new ratings; NaN removes one."""
    hashes = np.empty(len(new_others), np.uint64)
    for i in range(len(new_others)):
        hashes[i] = pair_hash(side, key, other_keys[new_others[i]])
    out_others = np.empty(len(others) + len(new_others), np.int32)
    out_ratings = np.empty(len(others) + len(new_others), np.float32)
    done = filled = 0
    for i in np.argsort(hashes):
        low, high = done, len(others)
        while low < high:
            middle = (low + high) // 2
            if pair_hash(side, key, other_keys[others[middle]]) < hashes[i]:
                low = middle + 1
            else:
                high = middle
        out_others[filled : filled + low - done] = others[done:low]
        out_ratings[filled : filled + low - done] = ratings[done:low]
        filled += low - done
        done = low + (low < len(others) and others[low] == new_others[i])
        if not np.isnan(new_ratings[i]):
            out_others[filled], out_ratings[filled] = new_others[i], new_ratings[i]
            filled += 1
    rest = len(others) - done
    out_others[filled : filled + rest] = others[done:]
    out_ratings[filled : filled + rest] = ratings[done:]
    return out_others[: filled + rest].copy(), out_ratings[: filled + rest].copy()


@kernel
def cutoffs(
    side: int,
    limit: int,
    entities: Longs,
    indptr: Longs,
    indices: Ints,
    keys: Keys,
    other_keys: Keys,
) -> Keys:
    """The hash of the last of the first `limit` entries of each row; the maximum in short rows."""
    out = np.full(len(entities), _EVERYTHING, np.uint64)
    for i in range(len(entities)):
        if indptr[i + 1] - indptr[i] > limit:
            other = indices[indptr[i] + limit - 1]
            out[i] = pair_hash(side, keys[entities[i]], other_keys[other])
    return out


@kernel
def copied(
    ptr: Longs,
    wanted: Flags,
    indptr: Longs,
    indices: Ints,
    codes: Codes,
    entities: Longs,
    out_indices: Ints,
    out_codes: Codes,
) -> None:
    """Copy the rows of the wanted entities to the positions in `ptr`."""
    for i in range(len(entities)):
        if wanted[i]:
            first = indptr[entities[i]]
            for k in range(ptr[i + 1] - ptr[i]):
                out_indices[ptr[i] + k] = indices[first + k]
                out_codes[ptr[i] + k] = codes[first + k]


@kernel
def dependents(
    side: int, cited: Longs, indptr: Longs, indices: Ints, keys: Keys, cited_keys: Keys, cut: Keys
) -> Flags:
    """Which entities of `side` have one of these opposite entities among the first of their row.

    Args:
        cited: opposite entities; `indptr` and `indices` are their rows.
        keys, cut: of `side`, by index.
    """
    found = np.zeros(len(keys), np.bool_)
    for i in range(len(cited)):
        for k in range(indptr[i], indptr[i + 1]):
            entity = indices[k]
            if not found[entity]:
                found[entity] = pair_hash(side, keys[entity], cited_keys[cited[i]]) <= cut[entity]
    return found
