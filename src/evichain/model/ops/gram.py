"""Gram matrices of a few rows.

The ridge channel spends most of its time in `matrix += sum row' row`, of which only the upper half
is used. A tile of the matrix is summed in registers: twelve vectors of eight numbers, which fit
beside the operands in the registers of any processor.
"""

from typing import Any

from evichain.kernels import Floats, fast_kernel
from evichain.model.ops.simd import ARRAY, LANES, NUMBER, OFFSET, VectorWriter, instructions


def _tile(rows: int, vectors: int) -> Any:
    """Make `add(left, i, across, right, j, width, count, out, o, sign)` for a tile of this size.

    It adds `sign * sum left[n]' right[n]` over n below `count` to rows of `out`, as far as they
    are in the tile: the n-th rows begin at `i + n * across` and `j + n * width`, and those of
    the tile at `o + row * width`.
    """

    def write(
        w: VectorWriter,
        left: Any,
        i: Any,
        across: Any,
        right: Any,
        j: Any,
        width: Any,
        count: Any,
        out: Any,
        o: Any,
        sign: Any,
    ) -> None:
        def add(n: Any, sums: list[Any]) -> list[Any]:
            one, other = (
                w.offset(begin, w.builder.mul(n, by)) for begin, by in ((i, across), (j, width))
            )
            values = [w.load(right, w.offset(other, LANES * vector)) for vector in range(vectors)]
            new = []
            for row in range(rows):
                factor = w.load_everywhere(left, w.offset(one, row))
                before = sums[row * vectors : (row + 1) * vectors]
                new += [w.plus(s, factor, value) for s, value in zip(before, values, strict=True)]
            return new

        sums, factor = w.loop(count, 1, rows * vectors, add), w.everywhere(sign)
        for number, total in enumerate(sums):
            row, vector = divmod(number, vectors)
            offset = w.offset(w.row(o, row, width), LANES * vector)
            w.store(w.plus(w.load(out, offset), factor, total), out, offset)

    offsets = (OFFSET, OFFSET)
    return instructions(write, ARRAY, *offsets, ARRAY, *offsets, OFFSET, ARRAY, OFFSET, NUMBER)


_four_by_three, _four_by_two, _eight_by_one = _tile(4, 3), _tile(4, 2), _tile(8, 1)


@fast_kernel
def add_products(panel: Floats, count: int, matrix: Floats) -> None:
    """Add `row' row` of the first `count` rows of a panel to a matrix."""
    for line in range(0, len(matrix), LANES):
        add_line(panel, count, line, matrix, 1.0)


@fast_kernel
def add_line(panel: Floats, count: int, line: int, matrix: Floats, sign: float) -> None:
    """Add `sign` times the product to eight rows of the matrix, from the diagonal on."""
    size, own = matrix.shape[1], line * matrix.shape[1]
    next_four = own + 4 * size
    j = line
    while j + 3 * LANES <= size:
        _four_by_three(panel, line, size, panel, j, size, count, matrix, own + j, sign)
        _four_by_three(panel, line + 4, size, panel, j, size, count, matrix, next_four + j, sign)
        j += 3 * LANES
    if j + 2 * LANES <= size:
        _four_by_two(panel, line, size, panel, j, size, count, matrix, own + j, sign)
        _four_by_two(panel, line + 4, size, panel, j, size, count, matrix, next_four + j, sign)
    elif j < size:
        _eight_by_one(panel, line, size, panel, j, size, count, matrix, own + j, sign)


@fast_kernel
def add_moments(weights: Floats, panel: Floats, count: int, moments: Floats) -> None:
    """Add the first `count` rows of a panel, with each of their two weights, to two rows."""
    for n in range(count):
        for j in range(panel.shape[1]):
            moments[0, j] += weights[n, 0] * panel[n, j]
            moments[1, j] += weights[n, 1] * panel[n, j]
