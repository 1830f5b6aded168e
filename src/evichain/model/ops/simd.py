"""Operations on rows, eight numbers at a time, written as LLVM instructions.

Sums over evidence are over rows of a few dozen numbers. A compiler that does not know their length
uses vectors of 32 numbers and computes the rest one by one, and it does not keep a sum in
registers. So the instructions are written out. Rows are padded with zeros to a multiple of eight
(`padded`), are in contiguous arrays of 32-bit floats, and are given by the offset of their first
number: row i of a matrix m starts at `i * m.shape[1]`.
"""

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from torch import Tensor
from torch.nn.functional import pad

from evichain.kernels import kernel, note_sources

LANES = 8

ARRAY, OFFSET, NUMBER = "array", types.intp, types.float32
"""The types of arguments."""

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_INDEX, _SMALL = ir.IntType(64), ir.IntType(32)
_ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)
_FAST = ("fast",)


@kernel
def padded(size: int) -> int:
    """The next size that is a multiple of LANES.

    >>> [padded(size) for size in (0, 1, 8, 56, 57)]
    [0, 8, 8, 56, 64]
    """
    return (size + LANES - 1) // LANES * LANES


def padded_rows(rows: Tensor) -> Tensor:
    """A copy of rows, padded with zeros to the next such size.

    >>> import torch
    >>> padded_rows(torch.ones(1, 3)).tolist()
    [[1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    size = rows.shape[1]
    return pad(rows, (0, padded(size) - size))


class VectorWriter:
    """Writes LLVM instructions; its arguments and results are LLVM values."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def offset(self, begin: Any, *further: Any) -> Any:
        """An offset plus others."""
        for more in further:
            begin = self.builder.add(begin, self._index(more))
        return begin

    def row(self, begin: Any, number: Any, width: Any) -> Any:
        """The offset of a row, `number` rows after `begin`."""
        return self.builder.add(begin, self.builder.mul(self._index(number), width))

    def _index(self, number: Any) -> Any:
        return ir.Constant(_INDEX, number) if isinstance(number, int) else number

    def load(self, array: Any, offset: Any) -> Any:
        """The vector at an offset."""
        return self.builder.load(self._vector_at(array, offset), align=4)

    def store(self, value: Any, array: Any, offset: Any) -> None:
        """Store a vector at an offset."""
        self.builder.store(value, self._vector_at(array, offset), align=4)

    def _vector_at(self, array: Any, offset: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(array, [offset]), _VECTOR.as_pointer())

    def load_everywhere(self, array: Any, offset: Any) -> Any:
        """A vector filled with the number at an offset."""
        return self.everywhere(self.builder.load(self.builder.gep(array, [offset])))

    def everywhere(self, number: Any) -> Any:
        """A vector filled with one number."""
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = self.builder.insert_element(nothing, number, ir.Constant(_SMALL, 0))
        return self._shuffled(first, [0] * LANES)

    def product(self, one: Any, other: Any) -> Any:
        """The elementwise product."""
        return self.builder.fmul(one, other, flags=_FAST)

    def plus(self, total: Any, one: Any, other: Any) -> Any:
        """`total + one * other`, rounded once where the processor can."""
        return self.builder.fadd(total, self.product(one, other), flags=_FAST)

    def minus(self, total: Any, one: Any, other: Any) -> Any:
        """`total - one * other`."""
        return self.builder.fsub(total, self.product(one, other), flags=_FAST)

    def sum(self, vector: Any) -> Any:
        """The sum of a vector's numbers."""
        half = LANES
        while half > 1:
            half //= 2
            order = [lane + half if lane < half else lane for lane in range(LANES)]
            vector = self.builder.fadd(vector, self._shuffled(vector, order), flags=_FAST)
        return self.builder.extract_element(vector, ir.Constant(_SMALL, 0))

    def _shuffled(self, vector: Any, order: list[int]) -> Any:
        lanes = ir.Constant(ir.VectorType(_SMALL, LANES), order)
        return self.builder.shuffle_vector(vector, vector, lanes)

    def loop(
        self, stop: Any, step: int, sums: int, body: Callable[[Any, list[Any]], list[Any]]
    ) -> list[Any]:
        """Sums that start at 0 and become `body(k, sums)` for k = 0, step, … below stop."""
        builder, before = self.builder, self.builder.block
        head, inside, after = (builder.append_basic_block(name) for name in ("head", "in", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        k = builder.phi(_INDEX)
        totals = [builder.phi(_VECTOR) for _ in range(sums)]
        builder.cbranch(builder.icmp_signed("<", k, stop), inside, after)
        builder.position_at_end(inside)
        new = [*body(k, totals), self.offset(k, step)]
        first = [_ZEROS] * sums + [ir.Constant(_INDEX, 0)]
        for value, begin, later in zip([*totals, k], first, new, strict=True):
            value.add_incoming(begin, before)
            value.add_incoming(later, builder.block)
        builder.branch(head)
        builder.position_at_end(after)
        return totals


def instructions(write: Callable[..., Any], *kinds: Any, result: Any = types.void) -> Any:
    """A function that kernels can call: the instructions of `write(writer, *arguments)`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = [
            context.make_array(kind)(context, builder, value).data
            if isinstance(kind, types.Array)
            else value
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        found = write(VectorWriter(builder), *given)
        return context.get_dummy_value() if result is types.void else found

    def typed(_: Any, *given: Any) -> Any:
        taken = (own if kind is ARRAY else kind for kind, own in zip(kinds, given, strict=True))
        return result(*taken), generate

    # numba takes the number of arguments from it.
    typed.__signature__ = inspect.signature(write)  # type: ignore[attr-defined]
    typed.__name__ = write.__name__
    made = intrinsic(typed)
    note_sources(made, write, instructions)
    return made


def _copy(w: VectorWriter, out: Any, o: Any, rows: Any, i: Any, size: Any) -> None:
    def move(k: Any, _: list[Any]) -> list[Any]:
        w.store(w.load(rows, w.offset(i, k)), out, w.offset(o, k))
        return []

    w.loop(size, LANES, 0, move)


def _add(w: VectorWriter, out: Any, o: Any, factor: Any, rows: Any, i: Any, size: Any) -> None:
    factors = w.everywhere(factor)

    def add(k: Any, _: list[Any]) -> list[Any]:
        offset = w.offset(o, k)
        w.store(w.plus(w.load(out, offset), factors, w.load(rows, w.offset(i, k))), out, offset)
        return []

    w.loop(size, LANES, 0, add)


def _dot(w: VectorWriter, one: Any, i: Any, other: Any, j: Any, size: Any) -> Any:
    def add(k: Any, sums: list[Any]) -> list[Any]:
        return [w.plus(sums[0], w.load(one, w.offset(i, k)), w.load(other, w.offset(j, k)))]

    return w.sum(w.loop(size, LANES, 1, add)[0])


copy_row = instructions(_copy, ARRAY, OFFSET, ARRAY, OFFSET, OFFSET)
"""`copy_row(out, o, rows, i, size)`: put the numbers from i on where those from o on are."""
add_row = instructions(_add, ARRAY, OFFSET, NUMBER, ARRAY, OFFSET, OFFSET)
"""`add_row(out, o, factor, rows, i, size)`: add a multiple of them."""
dot_rows = instructions(_dot, ARRAY, OFFSET, ARRAY, OFFSET, OFFSET, result=types.float32)
"""`dot_rows(one, i, other, j, size)`: the dot product of what begins at i and at j."""
