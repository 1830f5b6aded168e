"""Cholesky factors of small matrices, and solutions with them, eight rows at a time.

A factor U with `U' U = A` is kept packed: blocks of eight rows one after another, each from
the block's own columns on, with the reciprocal of its diagonal in place of that.
"""

import math
from typing import Any

import numpy as np

from evichain.kernels import Floats, fast_kernel, kernel
from evichain.model.ops.gram import add_line
from evichain.model.ops.lanes import (
    ARRAY,
    LANES,
    PLACE,
    Writer,
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


def _divide(w: Writer, matrix: Any, block: Any, row: Any, size: Any) -> None:
    """`matrix[B, J] = U[B, B]'^-1 matrix[B, J]`; the places of both blocks, and the row length."""
    lines = [w.times(size, line) for line in range(LANES)]
    done: list[Any] = []
    for line, far in enumerate(lines):
        values = w.load(matrix, w.place(row, far))
        for other, before in zip(lines, done):  # noqa: B905
            factor = w.load_everywhere(matrix, w.place(block, other, line))
            values = w.minus(values, factor, before)
        done.append(w.product(values, w.load_everywhere(matrix, w.place(block, far, line))))
    for far, values in zip(lines, done, strict=True):
        w.store(values, matrix, w.place(row, far))


def _take_off(w: Writer, factor: Any, block: Any, width: Any, out: Any, i: Any, j: Any) -> None:
    """`out[J] -= out[I] U[I, J]`, of eight numbers each."""
    values = w.load(out, j)
    for line in range(LANES):
        row = w.load(factor, w.place(block, w.times(width, line)))
        values = w.minus(values, w.load_everywhere(out, w.place(i, line)), row)
    w.store(values, out, j)


_divide_block = instructions(_divide, ARRAY, PLACE, PLACE, PLACE)
_take_off_block = instructions(_take_off, ARRAY, PLACE, PLACE, ARRAY, PLACE, PLACE)


@fast_kernel
def factorize(matrix: Floats, packed: Floats) -> None:
    """Pack the factor of a positive matrix, of which only the upper half is looked at and lost."""
    size, place = len(matrix), 0
    for block in range(0, size, LANES):
        if block:
            add_line(matrix, block, block, matrix, -1.0)
        _factorize_corner(matrix[block : block + LANES, block : block + LANES])
        corner = block * size + block
        for j in range(LANES, size - block, LANES):
            _divide_block(matrix, corner, corner + j, size)
        for line in range(LANES):
            copy_row(packed, place, matrix, corner + line * size, size - block)
            place += size - block


@fast_kernel
def _factorize_corner(corner: Floats) -> None:
    """The same of eight rows and columns, in place."""
    for i in range(LANES):
        inverse = np.float32(1) / math.sqrt(max(corner[i, i], np.float32(1e-12)))
        corner[i, i] = inverse
        for j in range(i + 1, LANES):
            corner[i, j] *= inverse
        for below in range(i + 1, LANES):
            share = corner[i, below]
            for j in range(below, LANES):
                corner[below, j] -= share * corner[i, j]


@fast_kernel
def solve_packed(packed: Floats, out: Floats) -> None:
    """`A^-1 out`, in its place: forwards and then backwards through the rows of a factor."""
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
