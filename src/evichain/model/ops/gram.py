"""Products of a few rows with themselves, and Cholesky factors, as fast as the machine can.

The ridge channel spends its time in `matrix += sum row' row`. No compiler keeps an array in
registers while it sums, so the innermost block is spelled out here for it: eight vectors
of eight numbers, which the registers of any processor can hold. All sizes are multiples
of that eight (`padded`), and only the upper half of a matrix is looked at.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from evichain.kernels import Floats, fast_kernel, kernel

LANES = 8


@kernel
def padded(size: int) -> int:
    """The next size that is a multiple of LANES.

    >>> [padded(size) for size in (1, 8, 56, 57)]
    [8, 8, 56, 64]
    """
    return (size + LANES - 1) // LANES * LANES


@fast_kernel
def add_products(panel: Floats, count: int, matrix: Floats) -> None:
    """Add `row' row` of the first `count` rows of a panel to a matrix."""
    for i in range(0, len(matrix), LANES):
        for j in range(i, len(matrix), LANES):
            _add_block(panel, count, i, j, matrix, np.float32(1))


@fast_kernel
def factorize(matrix: Floats) -> None:
    """Turn a positive matrix A into U with `U' U = A`, in place."""
    size = len(matrix)
    for block in range(0, size, LANES):
        if block:
            for j in range(block, size, LANES):
                _add_block(matrix, block, block, j, matrix, np.float32(-1))
        for i in range(block, block + LANES):
            root = math.sqrt(max(matrix[i, i], np.float32(1e-12)))
            for j in range(i, size):
                matrix[i, j] /= root
            for below in range(i + 1, block + LANES):
                share = matrix[i, below]
                for j in range(below, size):
                    matrix[below, j] -= share * matrix[i, j]


@intrinsic
def _block_adder(_: Any, panel: Any, count: Any, i: Any, j: Any, matrix: Any, sign: Any) -> Any:
    """`matrix[I, J] += sign * panel[:count, I].T @ panel[:count, J]` for a block at (i, j).

    `count` is positive.
    """
    signature = types.void(panel, types.intp, types.intp, types.intp, matrix, types.float32)
    return signature, _block


_add_block: Any = _block_adder
"""Called with all arguments but the first, which is the compiler's own."""


def _block(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The instructions of `_add_block`: one loop over rows, its sums in registers."""
    panel, count, i, j, matrix, sign = arguments
    number, index = ir.FloatType(), ir.IntType(64)
    vector = ir.VectorType(number, LANES)
    spread = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    fast = ("fast",)

    def array(place: int, value: Any) -> tuple[Any, Any]:
        found = context.make_array(signature.args[place])(context, builder, value)
        return found.data, builder.extract_value(found.shape, 1)

    def at(array: tuple[Any, Any], row: Any, column: Any, kind: ir.Type) -> Any:
        data, width = array
        place = builder.gep(data, [builder.add(builder.mul(row, width), column)])
        return builder.bitcast(place, kind.as_pointer())

    def load(place: Any) -> Any:
        return builder.load(place, align=4)

    def everywhere(value: Any) -> Any:
        first = builder.insert_element(
            ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
        )
        return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), spread)

    rows, out = array(0, panel), array(4, matrix)
    lines = [builder.add(i, ir.Constant(index, lane)) for lane in range(LANES)]
    before = builder.block
    loop, after = builder.append_basic_block("rows"), builder.append_basic_block("summed")
    builder.branch(loop)

    builder.position_at_end(loop)
    row = builder.phi(index)
    sums = [builder.phi(vector) for _ in lines]
    right = load(at(rows, row, j, vector))
    new = [
        builder.fadd(
            total,
            builder.fmul(everywhere(load(at(rows, row, line, number))), right, flags=fast),
            flags=fast,
        )
        for total, line in zip(sums, lines, strict=True)
    ]
    following = builder.add(row, ir.Constant(index, 1))
    row.add_incoming(ir.Constant(index, 0), before)
    row.add_incoming(following, loop)
    for total, value in zip(sums, new, strict=True):
        total.add_incoming(ir.Constant(vector, [0.0] * LANES), before)
        total.add_incoming(value, loop)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, after)

    builder.position_at_end(after)
    factor = everywhere(sign)
    for line, value in zip(lines, new, strict=True):
        place = at(out, line, j, vector)
        change = builder.fmul(factor, value, flags=fast)
        builder.store(builder.fadd(load(place), change, flags=fast), place, align=4)
    return context.get_dummy_value()
