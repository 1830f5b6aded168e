"""Sums over the evidence of items, kept: where one piece changes, all others need no look.

What a generator by channels makes of evidence, it makes of sums over its pieces, and of one matrix
that is such a sum too. When the embedding of one user changes, hundreds of items have one piece
that differs among hundreds that do not. To subtract the old piece and to add the new one takes a
hundredth of the time that adding them all up again does.

Sums are of 64 bits: those of a million changes are still those of a fresh start.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from evichain.evidence.choice import Evidence
from evichain.kernels import Flags, Floats, Longs, fast_kernel
from evichain.model.channels import ChannelGenerator
from evichain.model.layers import Layer

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]

MOST = 1 << 14
"""Entities whose sums are kept: of `plus`, those of one take 14 kB."""
_DEARER = 3
"""How much longer it takes to replace a piece than to add it up with all others."""


class _Pieces(NamedTuple):
    """What sources bring to sums, a row each; nothing from those that are not there.

    Attributes:
        one: 1 and the keys and values, which are summed up plain and weighted by what ratings
            leave unexplained.
        usual: the baseline, which a rating has to differ from.
        presence: what is summed up plain only.
    """

    one: Doubles
    usual: Doubles
    presence: Doubles


class Sums:
    """The sums of entities of a layer; the writer's own, not to be shared.

    With t what a rating leaves unexplained by the source's baseline, a row has the sum of t * t,
    those of `one` and of `t one`, and those of `presence`. `_grams` has, packed, the sums of the
    products of two keys.
    """

    def __init__(self, generator: ChannelGenerator) -> None:
        self._generator = generator
        keys, values, presence = generator.sizes
        self._wide = 1 + keys + values
        self._packed = np.tril_indices(keys)
        self._sums = np.zeros((0, 1 + 2 * self._wide + presence))
        self._grams = np.zeros((0, len(self._packed[0])))
        self._filled = np.zeros(0, np.bool_)

    def kept(self, entities: Longs) -> Flags:
        """Of whom sums are kept already."""
        found = np.zeros(len(entities), np.bool_)
        known = entities < len(self._filled)
        found[known] = self._filled[entities[known]]
        return found

    def mostly(self, entities: Longs, changed: Longs) -> Flags:
        """Of whom it takes less to add up everything again than to replace so many pieces."""
        found: Flags = changed * _DEARER > self._sums[entities, 1]
        return found

    def forget(self) -> None:
        """Keep nobody's sums: they have to be filled again."""
        self._filled[:] = False

    def fill(self, entities: Longs, evidence: Evidence, below: Layer) -> None:
        """Add up all evidence of some entities, who have a place from now on.

        Args:
            below: the sources, by the indices that the evidence names.
        """
        length = int(entities.max(initial=-1)) + 1
        self._sums, self._grams, self._filled = (
            _grown(old, length) for old in (self._sums, self._grams, self._filled)
        )
        self._filled[entities] = True
        pieces, ratings = self._pieces(below), self._standard(evidence.ratings)
        # Rounded here once, which later replacements do not add to.
        keys = pieces.one[:, 1 : 1 + self._generator.sizes[0]].astype(np.float32)
        for entity, first, last in zip(entities, evidence.ptr[:-1], evidence.ptr[1:], strict=True):
            sources = evidence.others[first:last]
            one, usual, presence = (part[sources] for part in pieces)
            left = (ratings[first:last] - usual) * one[:, 0]
            self._sums[entity] = np.concatenate(
                [[left @ left], one.sum(axis=0), left @ one, presence.sum(axis=0)]
            )
            chosen = keys[sources]
            self._grams[entity] = (chosen.T @ chosen)[self._packed]

    def replace(
        self, targets: Longs, sources: Longs, ratings: Floats, old: Layer, new: Layer
    ) -> None:
        """Take pieces out as they were, and add them as they are now.

        Args:
            targets: whose evidence each piece is.
            sources: which row of the layers each piece is.
        """
        less, more = self._pieces(old), self._pieces(new)
        # What a source brings is the same for all, but for the rating between them.
        one = more.one - less.one
        usual = _by(more.usual, more.one) - _by(less.usual, less.one)
        squares = (
            more.usual * more.usual * more.one[:, 0] - less.usual * less.usual * less.one[:, 0]
        )
        presence = more.presence - less.presence
        level = self._standard(ratings)
        left = level * level * one[sources, 0] - 2 * level * usual[sources, 0] + squares[sources]
        rows = np.column_stack(
            [
                left,
                one[sources],
                _by(level, one[sources]) - usual[sources],
                presence[sources],
            ]
        )
        _add(self._sums, targets, rows, np.arange(len(rows)))
        _add(self._grams, targets, self._products(more) - self._products(less), sources)

    @torch.inference_mode()
    def made(self, entities: Longs) -> Layer:
        """What the generator makes of the sums of these."""
        generator, keys = self._generator, self._generator.sizes[0]
        ends = np.cumsum([1, self._wide, self._wide])
        squares, plain, left, presence = np.split(self._sums[entities], ends, axis=1)
        count, total = plain[:, :1], left[:, :1]
        own = total / (count + generator.log_shrinkage[0].exp().item())
        squares = np.maximum(squares + own * (count * own - 2 * total), 0)
        left = (left - own * plain)[:, 1:]
        solved = np.empty((len(entities), keys), np.float32)
        _solve(self._grams, entities, generator.log_ridge.exp().double().numpy(), left, solved)
        parts: tuple[Array, ...] = (
            *(part[:, 0] for part in (own, count, squares)),
            solved,
            left[:, keys:],
            presence,
        )
        rows = generator.compose(*(torch.from_numpy(_single(part)) for part in parts)).numpy()
        there: Flags = count[:, 0] > 0.5
        rows[~there] = 0
        return Layer(rows, there)

    @torch.inference_mode()
    def _pieces(self, layer: Layer) -> _Pieces:
        # In 64 bits too: what is taken out is then what was added, whatever else goes with it.
        rows = layer.rows.astype(np.float64)
        weight, bias = (part.double().numpy() for part in self._generator.project.parameters())
        projected = rows[:, :-1] @ weight.T + bias
        one = np.column_stack([np.ones(len(rows)), projected[:, : self._wide - 1]])
        there = layer.there[:, np.newaxis]
        return _Pieces(one * there, rows[:, -1], projected[:, self._wide - 1 :] * there)

    def _products(self, pieces: _Pieces) -> Doubles:
        """Products of two keys of each source, packed."""
        keys, (left, right) = pieces.one[:, 1:], self._packed
        return keys[:, left] * keys[:, right]

    def _standard(self, ratings: Floats) -> Doubles:
        mean, deviation = self._generator.unit.double().numpy()
        standard: Doubles = (ratings - mean) / deviation
        return standard


def _by(factors: Doubles, rows: Doubles) -> Doubles:
    """Each row times its factor."""
    return factors[:, np.newaxis] * rows


def _grown(old: Array, length: int) -> Array:
    """The same with room for so many, and some more; what is not used yet takes no memory."""
    if length <= len(old):
        return old
    new = np.zeros((max(length, len(old) * 5 // 4), *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new


def _single(part: Array) -> Floats:
    return np.ascontiguousarray(part, np.float32)


@fast_kernel
def _add(out: Doubles, places: Longs, rows: Doubles, which: Longs) -> None:
    """Add some rows to others; a place may come more than once."""
    for e in range(len(places)):
        target, row = out[places[e]], rows[which[e]]
        for k in range(len(row)):
            target[k] += row[k]


@fast_kernel
def _solve(grams: Doubles, entities: Longs, ridge: Doubles, right: Doubles, out: Floats) -> None:
    """Solve `(gram + diag(ridge)) z = right` for each of these, by Cholesky's method.

    Four columns at a time, so that what is left of the matrix is read and written once for four;
    the last ones are made up to four with those of a unit matrix.
    """
    size = len(ridge)
    whole = (size + 3) // 4 * 4
    matrix, columns = np.zeros((whole, whole)), np.empty((4, whole))
    solved = np.empty(size)
    for e in range(len(entities)):
        gram = grams[entities[e]]
        for i in range(size):
            row = gram[i * (i + 1) // 2 :]
            for j in range(i + 1):
                matrix[i, j] = row[j]
            matrix[i, i] += ridge[i]
            solved[i] = right[e, i]
        for i in range(size, whole):
            matrix[i, :] = 0
            matrix[i, i] = 1
        for first in range(0, whole, 4):
            for p in range(4):
                j, column = first + p, columns[p]
                for q in range(p):
                    factor, before = matrix[j, first + q], columns[q]
                    for i in range(j, whole):
                        matrix[i, j] -= factor * before[i]
                inverse = 1 / np.sqrt(max(matrix[j, j], 1e-12))
                for i in range(j, whole):
                    column[i] = matrix[i, j] * inverse
                    matrix[i, j] = column[i]
            for i in range(first + 4, whole):
                rest = matrix[i]
                a, b, c, d = columns[0], columns[1], columns[2], columns[3]
                fa, fb, fc, fd = a[i], b[i], c[i], d[i]
                for k in range(first + 4, i + 1):
                    rest[k] -= fa * a[k] + fb * b[k] + fc * c[k] + fd * d[k]
        for i in range(size):
            row = matrix[i]
            left = solved[i]
            for k in range(i):
                left -= row[k] * solved[k]
            solved[i] = left / row[i]
        for i in range(size - 1, -1, -1):
            row = matrix[i]
            solved[i] /= row[i]
            last = solved[i]
            for k in range(i):
                solved[k] -= row[k] * last
        for i in range(size):
            out[e, i] = solved[i]
