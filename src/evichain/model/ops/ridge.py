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
from evichain.model.ops.gram import add_products, factorize, padded

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
        factors = np.empty((nodes, factor_size(size)), np.float32)
        plain, solved = torch.empty(nodes, size), torch.empty(nodes, size)
        squares = torch.empty(nodes)
        in_threads(
            factorize_and_solve,
            nodes,
            _array(keys),
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
        ctx.factors, ctx.layout = factors, layout
        ctx.save_for_backward(keys, below, own, plain, solved)
        ctx.mark_non_differentiable(squares)
        return solved, squares

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        keys, below, own, plain, solved = ctx.saved_tensors
        layout: Layout = ctx.layout
        moved = torch.empty_like(solved)
        in_threads(_solve, len(solved), ctx.factors, _array(grads[0]), moved.numpy())
        out, out_below = torch.empty(keys.shape), torch.empty(len(keys))
        in_threads(
            _solve_back,
            len(keys),
            _array(keys),
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
        out_own = -(moved * plain).sum(dim=1)
        return out, out_below, out_own, -(moved * solved).sum(dim=0), None


def _array(tensor: Tensor) -> Floats:
    found: Floats = tensor.detach().contiguous().numpy()
    return found


def factor_size(size: int) -> int:
    """How many numbers a factor takes: its upper half, row by row."""
    return size * (size + 1) // 2


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
    """The Cholesky factor of each node's matrix, `sum k`, `sum t**2` and the solution."""
    size = keys.shape[1]
    panel = np.zeros((_PANEL, padded(size)), np.float32)
    matrix = np.empty((padded(size), padded(size)), np.float32)
    right, sums = np.empty(size, np.float32), np.empty(size, np.float32)
    for node in range(start, stop):
        matrix[:], right[:], sums[:] = 0, 0, 0
        for i in range(len(matrix)):
            matrix[i, i] = ridge[i] if i < size else 1
        total, level = np.float32(0), own[node]
        first, last = node_ptr[node], node_ptr[node + 1]
        for begin in range(first, last, _PANEL):
            count = min(_PANEL, last - begin)
            for row in range(count):
                pair = link_pair[begin + row]
                source = pair_source[pair]
                target = pair_value[pair] - below[source] - level
                total += target * target
                for k in range(size):
                    key = keys[source, k]
                    panel[row, k] = key
                    right[k] += target * key
                    sums[k] += key
            add_products(panel, count, matrix)
        factorize(matrix)
        packed = factors[node]
        begin = 0
        for i in range(size):
            packed[begin : begin + size - i] = matrix[i, i:size]
            begin += size - i
        plain[node], squares[node] = sums, total
        _solve_one(packed, right, solved[node])


@fast_kernel
def _solve(start: int, stop: int, factors: Floats, right: Floats, out: Floats) -> None:
    """Solve with each node's factor."""
    for node in range(start, stop):
        _solve_one(factors[node], right[node], out[node])


@fast_kernel
def _solve_one(factor: Floats, right: Floats, out: Floats) -> None:
    """Forwards and then backwards through the rows of a factor."""
    size = len(right)
    out[:] = right
    begin = 0
    for i in range(size):
        row = factor[begin : begin + size - i]
        out[i] /= row[0]
        share = out[i]
        for k in range(1, size - i):
            out[i + k] -= share * row[k]
        begin += size - i
    for i in range(size - 1, -1, -1):
        begin -= size - i
        row = factor[begin : begin + size - i]
        rest = out[i]
        for k in range(1, size - i):
            rest -= row[k] * out[i + k]
        out[i] = rest / row[0]


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
        key, grad = keys[s], np.zeros(size, np.float32)
        change = np.float32(0)
        for pair in range(source_ptr[s], source_ptr[s + 1]):
            unexplained = pair_value[pair] - below[s]
            for link in range(pair_ptr[pair], pair_ptr[pair + 1]):
                node = pair_node[link]
                z, h = solved[node], moved[node]
                along_z = along_h = np.float32(0)
                for k in range(size):
                    along_z += key[k] * z[k]
                    along_h += key[k] * h[k]
                rest = unexplained - own[node] - along_z
                for k in range(size):
                    grad[k] += rest * h[k] - along_h * z[k]
                change -= along_h
        out[s], out_below[s] = grad, change
