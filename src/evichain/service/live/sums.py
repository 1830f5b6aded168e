"""Sums over the evidence of items, kept: where one piece changes, all others need no look.

What a generator by channels makes of evidence, it makes of sums over its pieces, and of one matrix
that is such a sum too. When the embedding of one user changes, hundreds of items have one piece
that differs among hundreds that do not. To subtract the old piece and to add the new one takes a
thousandth of the time that adding them all up again does.

Sums are of 64 bits: those of a million changes are still those of a fresh start.
"""

from typing import Any

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
"""Entities whose sums are kept: of `plus`, a place takes 14 kB."""
_ALONE = 3
"""Sums of single numbers: of ones, of what is unexplained, and of its squares."""


class Sums:
    """The sums of the first `MOST` entities of a layer; the writer's own, not to be shared."""

    def __init__(self, generator: ChannelGenerator) -> None:
        self._generator = generator
        keys, values, presence = generator.sizes
        self._sums = np.zeros((0, _ALONE + 2 * (keys + values) + presence))
        self._grams = np.zeros((0, keys * (keys + 1) // 2))
        self._filled = np.zeros(0, np.bool_)

    def kept(self, entities: Longs) -> Flags:
        """Of whom sums are kept already."""
        found = np.zeros(len(entities), np.bool_)
        known = entities < len(self._filled)
        found[known] = self._filled[entities[known]]
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
        self._sums = _grown(self._sums, length)
        self._grams = _grown(self._grams, length)
        self._filled = _grown(self._filled, length)
        self._filled[entities] = True
        self._sums[entities], self._grams[entities] = 0, 0
        targets = np.repeat(entities, np.diff(evidence.ptr))
        self._move(1.0, targets, evidence.others, evidence.ratings, below)

    def replace(
        self, targets: Longs, sources: Longs, ratings: Floats, old: Layer, new: Layer
    ) -> None:
        """Take pieces out as they were, and add them as they are now.

        Args:
            targets: whose evidence each piece is.
            sources: which row of the layers each piece is.
        """
        self._move(-1.0, targets, sources, ratings, old)
        self._move(1.0, targets, sources, ratings, new)

    @torch.inference_mode()
    def made(self, entities: Longs) -> Layer:
        """What the generator makes of the sums of these."""
        generator, (keys, values, _) = self._generator, self._generator.sizes
        sums, weighted = self._sums[entities], keys + values
        count, total, squares = sums[:, :_ALONE].T
        there = count > 0.5
        shrinkage = np.exp(generator.log_shrinkage[0].item())
        own = total / (count + shrinkage)
        plain, explained, presence = np.split(sums[:, _ALONE:], [weighted, 2 * weighted], axis=1)
        explained -= own[:, np.newaxis] * plain
        squares += own * (count * own - 2 * total)
        solved = np.empty((len(entities), keys), np.float32)
        ridge = generator.log_ridge.exp().double().numpy()
        _solve(self._grams, entities, ridge, explained, solved)
        parts = (own, count, np.maximum(squares, 0), solved, explained[:, keys:], presence)
        rows = generator.compose(*(torch.from_numpy(_single(part)) for part in parts)).numpy()
        rows[~there] = 0
        return Layer(rows, there)

    @torch.inference_mode()
    def _move(self, sign: float, targets: Longs, sources: Any, ratings: Floats, at: Layer) -> None:
        generator, rows = self._generator, at.rows.astype(np.float64)
        mean, deviation = generator.unit.tolist()
        keys, values, _ = generator.sizes
        # In 64 bits too: what is taken out is then what was added, whatever else goes with it.
        weight, bias = (part.double().numpy() for part in generator.project.parameters())
        _add(
            sign,
            targets,
            np.asarray(sources, np.int64),
            (ratings.astype(np.float64) - mean) / deviation,
            rows[:, :-1] @ weight.T + bias,
            rows[:, -1].copy(),
            at.there,
            keys,
            values,
            self._sums,
            self._grams,
        )


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
def _add(
    sign: float,
    targets: Longs,
    sources: Longs,
    ratings: Doubles,
    projected: Doubles,
    usual: Doubles,
    there: Flags,
    keys: int,
    values: int,
    sums: Doubles,
    grams: Doubles,
) -> None:
    """Add pieces to the sums of their targets, or take them out if the sign is -1."""
    weighted, wide = keys + values, projected.shape[1]
    for e in range(len(targets)):
        source = sources[e]
        if not there[source]:
            continue
        piece, unexplained = projected[source], ratings[e] - usual[source]
        sums_of, gram = sums[targets[e]], grams[targets[e]]
        sums_of[0] += sign
        sums_of[1] += sign * unexplained
        sums_of[2] += sign * unexplained * unexplained
        plain, by = sums_of[3 : 3 + weighted], sums_of[3 + weighted : 3 + 2 * weighted]
        for k in range(weighted):
            plain[k] += sign * piece[k]
            by[k] += sign * unexplained * piece[k]
        rest = sums_of[3 + 2 * weighted :]
        for k in range(wide - weighted):
            rest[k] += sign * piece[weighted + k]
        for i in range(keys):
            factor, row = sign * piece[i], gram[i * (i + 1) // 2 :]
            for j in range(i + 1):
                row[j] += factor * piece[j]


@fast_kernel
def _solve(grams: Doubles, entities: Longs, ridge: Doubles, right: Doubles, out: Floats) -> None:
    """Solve `(gram + diag(ridge)) z = right` for each of these, by Cholesky's method.

    The inner loops go along rows of what is left, so that they use vector registers.
    """
    size = len(ridge)
    matrix, column = np.empty((size, size)), np.empty(size)
    solved = np.empty(size)
    for e in range(len(entities)):
        gram = grams[entities[e]]
        for i in range(size):
            row = gram[i * (i + 1) // 2 :]
            for j in range(i + 1):
                matrix[i, j] = row[j]
            matrix[i, i] += ridge[i]
            solved[i] = right[e, i]
        for j in range(size):
            root = np.sqrt(max(matrix[j, j], 1e-12))
            # Forwards, as the factor grows: column j is all that it takes.
            solved[j] /= root
            for i in range(j, size):
                column[i] = matrix[i, j] / root
                matrix[i, j] = column[i]
            for i in range(j + 1, size):
                factor, rest = column[i], matrix[i]
                solved[i] -= factor * solved[j]
                for k in range(j + 1, i + 1):
                    rest[k] -= factor * column[k]
        for i in range(size - 1, -1, -1):
            row = matrix[i]
            solved[i] /= row[i]
            last = solved[i]
            for k in range(i):
                solved[k] -= row[k] * last
        for i in range(size):
            out[e, i] = solved[i]
