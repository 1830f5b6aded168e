"""Cholesky factors of small matrices, and solutions with them, eight rows at a time.

A factor U with `U' U = A` is kept packed: blocks of eight rows one after another, each from
the block's own columns on, with the reciprocal of its diagonal in place of that.
"""

import math
from typing import Any

import numpy as np

from evichain.kernels import Floats, fast_kernel, kernel
from evichain.model.ops.gram import add_line
from evichain.model.ops.simd import (
    ARRAY,
    LANES,
    OFFSET,
    VectorWriter,
    copy_row,
    dot_rows,
    instructions,
    padded,
)


@kernel
def factor_size(size: int) -> int:
    """How many numbers a packed factor takes.

    >>> [factor_size(size) for size in (0, 1, 8, 9)]
    [0, 64, 64, 192]
    """
    blocks = padded(size) // LANES
    return LANES * LANES * blocks * (blocks + 1) // 2


def _divide(w: VectorWriter, matrix: Any, corner: Any, block: Any, size: Any) -> None:
    """`U'^-1 A` in place of a block A of eight rows, where U is the corner."""
    done: list[Any] = []
    for line in range(LANES):
        values = w.load(matrix, w.row(block, line, size))
        for before, row in enumerate(done):
            factor = w.load_everywhere(matrix, w.offset(w.row(corner, before, size), line))
            values = w.minus(values, factor, row)
        inverse = w.load_everywhere(matrix, w.offset(w.row(corner, line, size), line))
        done.append(w.product(values, inverse))
    for line, values in enumerate(done):
        w.store(values, matrix, w.row(block, line, size))


def _take_off(
    w: VectorWriter, factor: Any, block: Any, width: Any, out: Any, i: Any, j: Any
) -> None:
    """`out[J] -= out[I] U[I, J]`, of eight numbers each."""
    values = w.load(out, j)
    for line in range(LANES):
        row = w.load(factor, w.row(block, line, width))
        values = w.minus(values, w.load_everywhere(out, w.offset(i, line)), row)
    w.store(values, out, j)


_divide_block = instructions(_divide, ARRAY, OFFSET, OFFSET, OFFSET)
_take_off_block = instructions(_take_off, ARRAY, OFFSET, OFFSET, ARRAY, OFFSET, OFFSET)


@fast_kernel
def factorize(matrix: Floats, least: Floats, packed: Floats) -> None:
    """Pack the factor of a positive matrix, of which the upper half is read and overwritten.

    Args:
        least: what was added to the diagonal of a positive semidefinite matrix. Squares on the
            factor's diagonal are kept at least this large, whatever the rounding.
    """
    size, offset = len(matrix), 0
    for block in range(0, size, LANES):
        if block:
            add_line(matrix, block, block, matrix, -1.0)
        _factorize_corner(matrix[block : block + LANES, block : block + LANES], least[block:])
        corner = block * size + block
        for j in range(LANES, size - block, LANES):
            _divide_block(matrix, corner, corner + j, size)
        for line in range(LANES):
            copy_row(packed, offset, matrix, corner + line * size, size - block)
            offset += size - block


@fast_kernel
def _factorize_corner(corner: Floats, least: Floats) -> None:
    """The same for eight rows and columns, in place."""
    for i in range(LANES):
        inverse = np.float32(1) / math.sqrt(max(corner[i, i], least[i]))
        corner[i, i] = inverse
        for j in range(i + 1, LANES):
            corner[i, j] *= inverse
        for below in range(i + 1, LANES):
            share = corner[i, below]
            for j in range(below, LANES):
                corner[below, j] -= share * corner[i, j]


@fast_kernel
def solve_packed(packed: Floats, out: Floats) -> None:
    """Replace `out` by `A^-1 out`: forward, then backward substitution."""
    size, begin = len(out), 0
    for block in range(0, size, LANES):
        width = size - block
        for i in range(LANES):
            share = out[block + i] * packed[begin + i * width + i]
            out[block + i] = share
            for k in range(i + 1, LANES):
                out[block + k] -= share * packed[begin + i * width + k]
        for j in range(LANES, width, LANES):
            _take_off_block(packed, begin + j, width, out, block, block + j)
        begin += LANES * width
    for block in range(size - LANES, -1, -LANES):
        width = size - block
        begin -= LANES * width
        for i in range(LANES - 1, -1, -1):
            row, after = begin + i * width, block + LANES
            rest = out[block + i] - dot_rows(packed, row + LANES, out, after, size - after)
            for k in range(i + 1, LANES):
                rest -= packed[row + k] * out[block + k]
            out[block + i] = rest * packed[row + i]
