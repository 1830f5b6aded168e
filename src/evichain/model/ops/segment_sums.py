"""Sums over evidence, plain and weighted by residuals.

One pass over the links of a block gives all sums that the channels of a generator need. Each row
is written once, in a fixed order.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from evichain.evidence.plan_layout import Layout
from evichain.kernels import Floats, Ints, Longs, fast_kernel, in_threads
from evichain.model.ops import torch_ops
from evichain.model.ops.simd import add_row, dot_rows, padded, padded_rows
from evichain.tensors import array_of


def evidence_sums(
    plain: Tensor,
    weighted: Tensor,
    below: Tensor,
    own: Tensor,
    layout: Layout | torch_ops.EvidenceTables,
) -> tuple[Tensor, Tensor]:
    """`sum plain[y]` and `sum (r - below[y] - own[x]) weighted[y]` over the evidence (y, r) of x.

    Args:
        plain, weighted: a row for each source.
        below: the baseline of each source.
        own: the baseline of each node.
    """
    if not plain.shape[1] + weighted.shape[1]:
        nothing = plain.new_empty(len(own), 0)
        return nothing, nothing
    if isinstance(layout, torch_ops.EvidenceTables):
        return torch_ops.evidence_sums(plain, weighted, below, own, layout)
    values = torch.cat([padded_rows(plain), padded_rows(weighted)], dim=1)
    begin = padded(plain.shape[1])
    sums: Tensor = _EvidenceSums.apply(values, below, own, begin, layout)  # type: ignore[no-untyped-call]
    return sums[:, : plain.shape[1]], sums[:, begin : begin + weighted.shape[1]]


def by_node(layout: Layout) -> tuple[Longs, Ints, Ints, Floats]:
    """The arguments with which a kernel goes through the links of each node."""
    return layout.node_ptr, layout.link_pair, layout.pair_source, layout.pair_value


def by_source(layout: Layout) -> tuple[Longs, Longs, Ints, Floats]:
    """The arguments with which a kernel goes through the links to each source."""
    return layout.source_ptr, layout.pair_ptr, layout.pair_node, layout.pair_value


class _EvidenceSums(Function):
    @staticmethod
    def forward(
        ctx: Any, values: Tensor, below: Tensor, own: Tensor, plain: int, layout: Layout
    ) -> Tensor:
        nodes, width = len(layout.node_ptr) - 1, values.shape[1]
        out = torch.empty(nodes, width)
        unweighted = torch.empty(nodes, width - plain)
        given = values.detach().numpy(), array_of(below), array_of(own)
        made = out.numpy(), unweighted.numpy()
        in_threads(_evidence_sums, nodes, plain, *given, *by_node(layout), *made)
        ctx.plain, ctx.layout = plain, layout
        ctx.save_for_backward(values, below, own, unweighted)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        grad = grads[0].contiguous()
        values, below, own, unweighted = ctx.saved_tensors
        layout: Layout = ctx.layout
        out, out_below = torch.empty_like(values), torch.empty(len(values))
        given = grad.numpy(), values.detach().numpy(), array_of(below), array_of(own)
        made = out.numpy(), out_below.numpy()
        in_threads(_evidence_sums_back, len(values), ctx.plain, *given, *by_source(layout), *made)
        out_own = -(grad[:, ctx.plain :] * unweighted).sum(dim=1)
        return out, out_below, out_own, None, None


@fast_kernel
def _evidence_sums(
    start: int,
    stop: int,
    plain: int,
    values: Floats,
    below: Floats,
    own: Floats,
    node_ptr: Longs,
    link_pair: Ints,
    pair_source: Ints,
    pair_value: Floats,
    out: Floats,
    unweighted: Floats,
) -> None:
    width = values.shape[1]
    weighted = width - plain
    for node in range(start, stop):
        out[node], unweighted[node] = 0, 0
        for link in range(node_ptr[node], node_ptr[node + 1]):
            p = link_pair[link]
            s = pair_source[p]
            own_row, row = node * width, s * width
            add_row(out, own_row, 1.0, values, row, plain)
            residual = pair_value[p] - below[s] - own[node]
            add_row(out, own_row + plain, residual, values, row + plain, weighted)
            add_row(unweighted, node * weighted, 1.0, values, row + plain, weighted)


@fast_kernel
def _evidence_sums_back(
    start: int,
    stop: int,
    plain: int,
    grad: Floats,
    values: Floats,
    below: Floats,
    own: Floats,
    source_ptr: Longs,
    pair_ptr: Longs,
    pair_node: Ints,
    pair_value: Floats,
    out: Floats,
    out_below: Floats,
) -> None:
    width = values.shape[1]
    weighted = width - plain
    unweighted = np.empty(weighted, np.float32)
    for s in range(start, stop):
        own_row = s * width
        out[s], unweighted[:] = 0, 0
        for p in range(source_ptr[s], source_ptr[s + 1]):
            unexplained = pair_value[p] - below[s]
            for link in range(pair_ptr[p], pair_ptr[p + 1]):
                node = pair_node[link]
                row = node * width
                add_row(out, own_row, 1.0, grad, row, plain)
                residual = unexplained - own[node]
                add_row(out, own_row + plain, residual, grad, row + plain, weighted)
                add_row(unweighted, 0, 1.0, grad, row + plain, weighted)
        out_below[s] = -dot_rows(unweighted, 0, values, own_row + plain, weighted)
