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
from torch.autograd.function import once_differentiable

from evichain.evidence.plan_layout import Layout
from evichain.kernels import Floats, Ints, Longs, fast_kernel, in_threads, kernel
from evichain.model.ops import torch_ops
from evichain.model.ops.cholesky import factor_size, factorize, solve_packed
from evichain.model.ops.gram import add_moments, add_products
from evichain.model.ops.segment_sums import by_node, by_source
from evichain.model.ops.simd import add_row, copy_row, dot_rows, padded, padded_rows
from evichain.tensors import array_of

_PANEL = 128
"""How many keys are copied side by side, to stay in the nearest cache."""


def solve(
    keys: Tensor,
    below: Tensor,
    own: Tensor,
    ridge: Tensor,
    layout: Layout | torch_ops.EvidenceTables,
) -> tuple[Tensor, Tensor]:
    """`z = (sum k k' + diag(ridge))^-1 sum t k` over the evidence (y, r) of each node x.

    Targets are the residuals `t = r - below[y] - own[x]`. Also returns
    `sum t**2`, which has no gradient.

    Args:
        keys: a row for each source.
        below: the baseline of each source.
        own: the baseline of each node.
        ridge: the positive penalty of each coefficient.
    """
    if isinstance(layout, torch_ops.EvidenceTables):
        return torch_ops.solve(keys, below, own, ridge, layout)
    # Inside an autograd function, gradients are always off.
    arguments = (keys, below, own, ridge, layout, torch.is_grad_enabled())
    solved: tuple[Tensor, Tensor] = _Solve.apply(*arguments)  # type: ignore[no-untyped-call]
    return solved


class _Solve(Function):
    @staticmethod
    def forward(
        ctx: Any,
        keys: Tensor,
        below: Tensor,
        own: Tensor,
        ridge: Tensor,
        layout: Layout,
        keep: bool,
    ) -> tuple[Tensor, Tensor]:
        nodes, size = len(own), keys.shape[1]
        rows, held = array_of(padded_rows(keys)), padded_ridge(array_of(ridge))
        # For the gradient only: factors take far more memory than the keys.
        factors = np.empty((nodes if keep else 0, factor_size(size)), np.float32)
        plain, solved = torch.empty(nodes, rows.shape[1]), torch.empty(nodes, rows.shape[1])
        squares = torch.empty(nodes)
        given = rows, array_of(below), array_of(own), held
        made = factors, plain.numpy(), squares.numpy(), solved.numpy()
        in_threads(factorize_and_solve, nodes, *given, *by_node(layout), *made)
        ctx.rows, ctx.held, ctx.factors, ctx.layout = rows, held, factors, layout
        ctx.size = size
        ctx.save_for_backward(below, own, plain, solved)
        ctx.mark_non_differentiable(squares)
        return solved[:, :size], squares

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        below, own, plain, solved = ctx.saved_tensors
        layout: Layout = ctx.layout
        moved = padded_rows(grads[0])
        links = layout.node_ptr, layout.link_pair, layout.pair_source
        in_threads(_solve, len(solved), ctx.factors, ctx.rows, ctx.held, *links, moved.numpy())
        out, out_below = torch.empty(ctx.rows.shape), torch.empty(len(ctx.rows))
        given = ctx.rows, array_of(below), array_of(own), solved.numpy(), moved.numpy()
        made = out.numpy(), out_below.numpy()
        in_threads(_solve_back, len(out), *given, *by_source(layout), *made)
        out_own, out_ridge = -(moved * plain).sum(dim=1), -(moved * solved).sum(dim=0)
        return out[:, : ctx.size], out_below, out_own, out_ridge[: ctx.size], None, None


def padded_ridge(ridge: Floats) -> Floats:
    """The penalties, with ones for padded keys, whose coefficients are 0 with any penalty."""
    return np.concatenate([ridge, np.ones(padded(len(ridge)) - len(ridge), np.float32)])


@kernel
def _is_small(count: int, size: int) -> bool:
    """Whether a node has so little evidence that the smaller dual system is solved instead.

    `(K'K + R)^-1 K' t = R^-1 K' (K R^-1 K' + 1)^-1 t`, a system with a row for each key.
    Its evidence must fit in one panel.
    """
    return 7 * count <= 4 * size and count <= _PANEL


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
    """The packed factor of each node's matrix, `sum k`, `sum t**2` and the solution.

    Factors are kept only if `factors` has rows.
    """
    size = keys.shape[1]
    panel, weights = np.zeros((_PANEL, size), np.float32), np.ones((_PANEL, 2), np.float32)
    matrix, moments = np.empty((size, size), np.float32), np.empty((2, size), np.float32)
    roots, scratch = np.sqrt(ridge), np.empty(2 * size * size, np.float32)
    room = np.empty(factors.shape[1], np.float32)
    for node in range(start, stop):
        first, last = node_ptr[node], node_ptr[node + 1]
        small = _is_small(last - first, size)
        packed = factors[node] if len(factors) else room
        moments[:] = 0
        if not small:
            matrix[:] = 0
            for i in range(size):
                matrix[i, i] = ridge[i]
        total, baseline = np.float32(0), own[node]
        for begin in range(first, last, _PANEL):
            count = min(_PANEL, last - begin)
            for row in range(count):
                pair = link_pair[begin + row]
                source = pair_source[pair]
                target = pair_value[pair] - below[source] - baseline
                total += target * target
                weights[row, 0] = target
                copy_row(panel, row * size, keys, source * size, size)
            add_moments(weights, panel, count, moments)
            if not small:
                add_products(panel, count, matrix)
        copy_row(plain, node * size, moments, size, size)
        squares[node] = total
        if small:
            _solve_few(panel, weights, last - first, ridge, roots, scratch, packed, solved[node])
        else:
            factorize(matrix, ridge, packed)
            copy_row(solved, node * size, moments, 0, size)
            solve_packed(packed, solved[node])


@fast_kernel
def _solve_few(
    panel: Floats,
    weights: Floats,
    count: int,
    ridge: Floats,
    roots: Floats,
    scratch: Floats,
    packed: Floats,
    out: Floats,
) -> None:
    """The factor and the solution for little evidence, all of it in the panel."""
    size, few = len(out), padded(count)
    turned = scratch[: size * few].reshape(size, few)
    matrix = scratch[size * few : (size + few) * few].reshape(few, few)
    parts, ones = np.zeros(few, np.float32), np.ones(few, np.float32)
    parts[:count] = weights[:count, 0]
    for k in range(size):
        for row in range(few):
            turned[k, row] = panel[row, k] / roots[k] if row < count else 0
    matrix[:] = 0
    for i in range(few):
        matrix[i, i] = 1
    add_products(turned, size, matrix)
    factorize(matrix, ones, packed)
    solve_packed(packed, parts)
    out[:] = 0
    for row in range(count):
        add_row(out, 0, parts[row], panel, row * size, size)
    for k in range(size):
        out[k] /= ridge[k]


@fast_kernel
def _solve(
    start: int,
    stop: int,
    factors: Floats,
    keys: Floats,
    ridge: Floats,
    node_ptr: Longs,
    link_pair: Ints,
    pair_source: Ints,
    out: Floats,
) -> None:
    """Solve with each node's factor, in place."""
    size = keys.shape[1]
    parts, back = np.zeros(size, np.float32), np.empty(size, np.float32)
    for node in range(start, stop):
        first, count = node_ptr[node], node_ptr[node + 1] - node_ptr[node]
        if not _is_small(count, size):
            solve_packed(factors[node], out[node])
            continue
        few = padded(count)
        for k in range(size):
            out[node, k] /= ridge[k]
        for row in range(few):
            parts[row] = 0
        for row in range(count):
            key = pair_source[link_pair[first + row]] * size
            parts[row] = dot_rows(keys, key, out, node * size, size)
        solve_packed(factors[node], parts[:few])
        back[:] = 0
        for row in range(count):
            key = pair_source[link_pair[first + row]] * size
            add_row(back, 0, parts[row], keys, key, size)
        for k in range(size):
            out[node, k] -= back[k] / ridge[k]


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
        change = np.float32(0)
        for k in range(size):
            out[s, k] = 0
        for pair in range(source_ptr[s], source_ptr[s + 1]):
            unexplained = pair_value[pair] - below[s]
            for link in range(pair_ptr[pair], pair_ptr[pair + 1]):
                node = pair_node[link]
                along_z = along_h = np.float32(0)
                for k in range(size):
                    along_z += keys[s, k] * solved[node, k]
                    along_h += keys[s, k] * moved[node, k]
                rest = unexplained - own[node] - along_z
                for k in range(size):
                    out[s, k] += rest * moved[node, k] - along_h * solved[node, k]
                change -= along_h
        out_below[s] = change
