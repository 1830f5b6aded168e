"""The ridge regression of every node on the keys of its evidence, with its gradient.

The gradient needs no product of matrices: with `A = sum k k' + diag(ridge)`, `A z = t` and
g the gradient of z, `h = A^-1 g` is the gradient of t, and that of a key k is
`-sum ((k h) z + (k z) h)` over the nodes it is evidence for.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from evichain.evidence.settling import Layout
from evichain.kernels import Floats, Ints, Longs, fast_kernel, in_threads


def solve(keys: Tensor, totals: Tensor, ridge: Tensor, layout: Layout) -> Tensor:
    """`z = (sum k k' + diag(ridge))^-1 totals`, the sum over the keys of each node's evidence.

    Args:
        keys: a row for each source.
        totals: a row for each node, `sum t k` for targets t of the regression.
        ridge: what holds each coefficient back, positive.
    """
    result: Tensor = _Solve.apply(keys, totals, ridge, layout)  # type: ignore[no-untyped-call]
    return result


class _Solve(Function):
    @staticmethod
    def forward(ctx: Any, keys: Tensor, totals: Tensor, ridge: Tensor, layout: Layout) -> Tensor:
        nodes, size = totals.shape
        # Only what is at and below the diagonal is kept, row by row.
        factors = np.empty((nodes, size * (size + 1) // 2), np.float32)
        solved = torch.empty(nodes, size)
        in_threads(
            factorize_and_solve,
            nodes,
            keys.detach().contiguous().numpy(),
            ridge.detach().contiguous().numpy(),
            totals.detach().contiguous().numpy(),
            layout.node_ptr,
            layout.link_pair,
            layout.pair_source,
            factors,
            solved.numpy(),
        )
        ctx.factors, ctx.layout = factors, layout
        ctx.save_for_backward(keys, solved)
        return solved

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        keys, solved = ctx.saved_tensors
        layout: Layout = ctx.layout
        moved = torch.empty_like(solved)
        in_threads(_solve, len(solved), ctx.factors, grads[0].contiguous().numpy(), moved.numpy())
        out = torch.empty(keys.shape)
        in_threads(
            _keys_back,
            len(keys),
            keys.detach().contiguous().numpy(),
            solved.detach().numpy(),
            moved.numpy(),
            layout.source_ptr,
            layout.pair_ptr,
            layout.pair_node,
            out.numpy(),
        )
        return out, moved, -(moved * solved).sum(dim=0), None


@fast_kernel
def factorize_and_solve(
    start: int,
    stop: int,
    keys: Floats,
    ridge: Floats,
    totals: Floats,
    node_ptr: Longs,
    link_pair: Ints,
    pair_source: Ints,
    factors: Floats,
    solved: Floats,
) -> None:
    """The Cholesky factor (lower) of each node's matrix, and its solution."""
    size = keys.shape[1]
    matrix = np.empty((size, size), np.float32)
    for node in range(start, stop):
        matrix[:] = 0
        first, last = node_ptr[node], node_ptr[node + 1]
        # Four links at a time: the matrix is read and written once for four products.
        for link in range(first, last - 3, 4):
            a = keys[pair_source[link_pair[link]]]
            b = keys[pair_source[link_pair[link + 1]]]
            c = keys[pair_source[link_pair[link + 2]]]
            d = keys[pair_source[link_pair[link + 3]]]
            for i in range(size):
                for j in range(i + 1):
                    matrix[i, j] += a[i] * a[j] + b[i] * b[j] + c[i] * c[j] + d[i] * d[j]
        for link in range(last - (last - first) % 4, last):
            a = keys[pair_source[link_pair[link]]]
            for i in range(size):
                for j in range(i + 1):
                    matrix[i, j] += a[i] * a[j]
        for j in range(size):
            diagonal = matrix[j, j] + ridge[j]
            for k in range(j):
                diagonal -= matrix[j, k] * matrix[j, k]
            root = math.sqrt(max(diagonal, np.float32(1e-12)))
            matrix[j, j] = root
            for i in range(j + 1, size):
                rest = matrix[i, j]
                for k in range(j):
                    rest -= matrix[i, k] * matrix[j, k]
                matrix[i, j] = rest / root
        packed = factors[node]
        for i in range(size):
            begin = i * (i + 1) // 2
            packed[begin : begin + i + 1] = matrix[i, : i + 1]
        _solve_one(packed, totals[node], solved[node])


@fast_kernel
def _solve(start: int, stop: int, factors: Floats, right: Floats, out: Floats) -> None:
    """Solve with each node's factor."""
    for node in range(start, stop):
        _solve_one(factors[node], right[node], out[node])


@fast_kernel
def _solve_one(factor: Floats, right: Floats, out: Floats) -> None:
    """Forwards and then backwards through the rows of a factor."""
    size = len(right)
    for i in range(size):
        row = factor[i * (i + 1) // 2 :]
        rest = right[i]
        for k in range(i):
            rest -= row[k] * out[k]
        out[i] = rest / row[i]
    for i in range(size - 1, -1, -1):
        row = factor[i * (i + 1) // 2 :]
        out[i] /= row[i]
        last = out[i]
        for k in range(i):
            out[k] -= row[k] * last


@fast_kernel
def _keys_back(
    start: int,
    stop: int,
    keys: Floats,
    solved: Floats,
    moved: Floats,
    source_ptr: Longs,
    pair_ptr: Longs,
    pair_node: Ints,
    out: Floats,
) -> None:
    size = keys.shape[1]
    for s in range(start, stop):
        for k in range(size):
            out[s, k] = 0
        for link in range(pair_ptr[source_ptr[s]], pair_ptr[source_ptr[s + 1]]):
            node = pair_node[link]
            along_solved = along_moved = np.float32(0)
            for k in range(size):
                along_solved += keys[s, k] * solved[node, k]
                along_moved += keys[s, k] * moved[node, k]
            for k in range(size):
                out[s, k] -= along_moved * solved[node, k] + along_solved * moved[node, k]
