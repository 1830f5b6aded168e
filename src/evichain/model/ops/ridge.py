"""The ridge regression of every node on the keys of its evidence, with its gradient.

The gradient needs no product of matrices: with `A = sum k k' + diag(ridge)`, `A z = sum t k`
and g the gradient of z, `h = A^-1 g`, that of a key k is `(t - k z) h - (k h) z`, summed over
the nodes it is evidence for, and that of a target t is `k h`.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from evichain.evidence.settling import Layout
from evichain.kernels import Floats, Ints, Longs, fast_kernel, in_threads
from evichain.model.ops import ordinary
from evichain.model.ops.cholesky import factor_size, factorize, solve_packed
from evichain.model.ops.gram import add_moments, add_products
from evichain.model.ops.lanes import (
    ARRAY,
    LANES,
    NUMBER,
    PLACE,
    Writer,
    copy_row,
    instructions,
    padded,
)

_PANEL = 128
"""So many keys lie side by side, in the nearest cache."""


def solve(
    keys: Tensor, below: Tensor, own: Tensor, ridge: Tensor, layout: Layout | ordinary.Tables
) -> tuple[Tensor, Tensor]:
    """`z = (sum k k' + diag(ridge))^-1 sum t k` over the evidence (y, r) of each node x.

    Targets are what is left of the ratings, `t = r - below[y] - own[x]`. Also returns
    `sum t**2`, which has no gradient.

    Args:
        keys: a row for each source.
        below: the baseline of each source.
        own: the baseline of each node.
        ridge: what holds each coefficient back, positive.
    """
    if isinstance(layout, ordinary.Tables):
        return ordinary.solve(keys, below, own, ridge, layout)
    arguments = (keys, below, own, ridge, layout)
    solved: tuple[Tensor, Tensor] = _Solve.apply(*arguments)  # type: ignore[no-untyped-call]
    return solved


class _Solve(Function):
    @staticmethod
    def forward(
        ctx: Any, keys: Tensor, below: Tensor, own: Tensor, ridge: Tensor, layout: Layout
    ) -> tuple[Tensor, Tensor]:
        nodes, size = len(own), keys.shape[1]
        rows = _padded(keys)
        factors = np.empty((nodes, factor_size(size)), np.float32)
        plain, solved = torch.empty(nodes, rows.shape[1]), torch.empty(nodes, rows.shape[1])
        squares = torch.empty(nodes)
        in_threads(
            factorize_and_solve,
            nodes,
            rows,
            _array(below),
            _array(own),
            _array(ridge),
            layout.node_ptr,
            layout.link_pair,
            layout.pair_source,
            layout.pair_value,
            factors,
            plain.numpy(),
            squares.numpy(),
            solved.numpy(),
        )
        ctx.size, ctx.rows, ctx.factors, ctx.layout = size, rows, factors, layout
        ctx.save_for_backward(below, own, plain, solved)
        ctx.mark_non_differentiable(squares)
        return solved[:, :size], squares

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        below, own, plain, solved = ctx.saved_tensors
        layout: Layout = ctx.layout
        moved = torch.from_numpy(_padded(grads[0]))
        in_threads(_solve, len(solved), ctx.factors, moved.numpy())
        out, out_below = torch.empty(ctx.rows.shape), torch.empty(len(ctx.rows))
        in_threads(
            _solve_back,
            len(out),
            ctx.rows,
            _array(below),
            _array(own),
            solved.numpy(),
            moved.numpy(),
            layout.source_ptr,
            layout.pair_ptr,
            layout.pair_node,
            layout.pair_value,
            out.numpy(),
            out_below.numpy(),
        )
        out_own, out_ridge = -(moved * plain).sum(dim=1), -(moved * solved).sum(dim=0)
        return out[:, : ctx.size], out_below, out_own, out_ridge[: ctx.size], None


def _array(tensor: Tensor) -> Floats:
    found: Floats = tensor.detach().contiguous().numpy()
    return found


def _padded(rows: Tensor) -> Floats:
    """A copy whose rows have a multiple of eight numbers."""
    size = rows.shape[1]
    found: Floats = torch.nn.functional.pad(rows.detach(), (0, padded(size) - size)).numpy()
    return found


def _pull_key(
    w: Writer, keys: Any, i: Any, target: Any, z: Any, h: Any, j: Any, size: Any, out: Any
) -> Any:
    """Add `(t - k z) h - (k h) z` to the gradient of the key at i, and return `k h`."""

    def along(k: Any, sums: list[Any]) -> list[Any]:
        key, place = w.load(keys, w.place(i, k)), w.place(j, k)
        return [w.plus(total, key, w.load(a, place)) for total, a in zip(sums, (z, h), strict=True)]

    along_z, along_h = (w.sum(total) for total in w.loop(size, LANES, 2, along))
    rest, back = w.everywhere(w.builder.fsub(target, along_z)), w.everywhere(along_h)

    def add(k: Any, _: list[Any]) -> list[Any]:
        own, place = w.place(i, k), w.place(j, k)
        moved = w.plus(w.load(out, own), rest, w.load(h, place))
        w.store(w.minus(moved, back, w.load(z, place)), out, own)
        return []

    w.loop(size, LANES, 0, add)
    return along_h


_pull = instructions(
    _pull_key, ARRAY, PLACE, NUMBER, ARRAY, ARRAY, PLACE, PLACE, ARRAY, result=NUMBER
)


@fast_kernel
def factorize_and_solve(
    start: int,
    stop: int,
    keys: Floats,
    below: Floats,
    own: Floats,
    ridge: Floats,
    node_ptr: Longs,
    link_pair: Ints,
    pair_source: Ints,
    pair_value: Floats,
    factors: Floats,
    plain: Floats,
    squares: Floats,
    solved: Floats,
) -> None:
    """The packed factor of each node's matrix, `sum k`, `sum t**2` and the solution."""
    size = keys.shape[1]
    panel, weights = np.zeros((_PANEL, size), np.float32), np.ones((_PANEL, 2), np.float32)
    matrix, moments = np.empty((size, size), np.float32), np.empty((2, size), np.float32)
    for node in range(start, stop):
        matrix[:], moments[:] = 0, 0
        for i in range(size):
            matrix[i, i] = ridge[i] if i < len(ridge) else 1
        total, level = np.float32(0), own[node]
        first, last = node_ptr[node], node_ptr[node + 1]
        for begin in range(first, last, _PANEL):
            count = min(_PANEL, last - begin)
            for row in range(count):
                pair = link_pair[begin + row]
                source = pair_source[pair]
                target = pair_value[pair] - below[source] - level
                total += target * target
                weights[row, 0] = target
                copy_row(panel, row * size, keys, source * size, size)
            add_moments(weights, panel, count, moments)
            add_products(panel, count, matrix)
        factorize(matrix, factors[node])
        copy_row(solved, node * size, moments, 0, size)
        copy_row(plain, node * size, moments, size, size)
        squares[node] = total
        solve_packed(factors[node], solved[node])


@fast_kernel
def _solve(start: int, stop: int, factors: Floats, out: Floats) -> None:
    """Solve with each node's factor, in place."""
    for node in range(start, stop):
        solve_packed(factors[node], out[node])


@fast_kernel
def _solve_back(
    start: int,
    stop: int,
    keys: Floats,
    below: Floats,
    own: Floats,
    solved: Floats,
    moved: Floats,
    source_ptr: Longs,
    pair_ptr: Longs,
    pair_node: Ints,
    pair_value: Floats,
    out: Floats,
    out_below: Floats,
) -> None:
    size = keys.shape[1]
    for s in range(start, stop):
        key, change = s * size, np.float32(0)
        out[s] = 0
        for pair in range(source_ptr[s], source_ptr[s + 1]):
            unexplained = pair_value[pair] - below[s]
            for link in range(pair_ptr[pair], pair_ptr[pair + 1]):
                node = pair_node[link]
                target = unexplained - own[node]
                change -= _pull(keys, key, target, solved, moved, node * size, size, out)
        out_below[s] = change
