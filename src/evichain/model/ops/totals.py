"""Sums over evidence, plain and weighted by what the ratings leave unexplained.

One walk over the links of a block gives all the sums that the channels of a generator
need. Like the means of the paper's form it writes each row once, in a fixed order.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from evichain.evidence.settling import Layout
from evichain.kernels import Floats, Ints, Longs, fast_kernel, in_threads
from evichain.model.ops import ordinary


def totals(
    plain: Tensor,
    weighted: Tensor,
    below: Tensor,
    own: Tensor,
    layout: Layout | ordinary.Tables,
) -> tuple[Tensor, Tensor]:
    """`sum plain[y]` and `sum (r - below[y] - own[x]) weighted[y]` over the evidence (y, r) of x.

    Args:
        plain, weighted: a row for each source.
        below: the baseline of each source.
        own: the baseline of each node.
    """
    values = torch.cat([plain, weighted], dim=1)
    if not values.shape[1]:
        nothing = values.new_empty(len(own), 0)  # and no walk over the links to find that out
        return nothing, nothing
    if isinstance(layout, ordinary.Tables):
        return ordinary.totals(plain, weighted, below, own, layout)
    arguments = (values, below, own, plain.shape[1], layout)
    sums: Tensor = _Totals.apply(*arguments)  # type: ignore[no-untyped-call]
    return sums[:, : plain.shape[1]], sums[:, plain.shape[1] :]


class _Totals(Function):
    @staticmethod
    def forward(
        ctx: Any, values: Tensor, below: Tensor, own: Tensor, plain: int, layout: Layout
    ) -> Tensor:
        nodes, width = len(layout.node_ptr) - 1, values.shape[1]
        out = torch.empty(nodes, width)
        unweighted = torch.empty(nodes, width - plain)
        in_threads(
            _total,
            nodes,
            plain,
            values.detach().numpy(),
            below.detach().contiguous().numpy(),
            own.detach().contiguous().numpy(),
            layout.node_ptr,
            layout.link_pair,
            layout.pair_source,
            layout.pair_value,
            out.numpy(),
            unweighted.numpy(),
        )
        ctx.plain, ctx.layout = plain, layout
        ctx.save_for_backward(values, below, own, unweighted)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        grad = grads[0].contiguous()
        values, below, own, unweighted = ctx.saved_tensors
        layout: Layout = ctx.layout
        out, out_below = torch.empty_like(values), torch.empty(len(values))
        in_threads(
            _total_back,
            len(values),
            ctx.plain,
            grad.numpy(),
            values.detach().numpy(),
            below.detach().contiguous().numpy(),
            own.detach().contiguous().numpy(),
            layout.source_ptr,
            layout.pair_ptr,
            layout.pair_node,
            layout.pair_value,
            out.numpy(),
            out_below.numpy(),
        )
        out_own = -(grad[:, ctx.plain :] * unweighted).sum(dim=1)
        return out, out_below, out_own, None, None


@fast_kernel
def _total(
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
    weighted = values.shape[1] - plain
    for node in range(start, stop):
        for k in range(plain):
            out[node, k] = 0
        for k in range(weighted):
            out[node, plain + k] = 0
            unweighted[node, k] = 0
        for link in range(node_ptr[node], node_ptr[node + 1]):
            p = link_pair[link]
            s = pair_source[p]
            residual = pair_value[p] - below[s] - own[node]
            for k in range(plain):
                out[node, k] += values[s, k]
            for k in range(weighted):
                out[node, plain + k] += residual * values[s, plain + k]
                unweighted[node, k] += values[s, plain + k]


@fast_kernel
def _total_back(
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
    weighted = values.shape[1] - plain
    unweighted = np.empty(weighted, np.float32)
    for s in range(start, stop):
        for k in range(plain + weighted):
            out[s, k] = 0
        for k in range(weighted):
            unweighted[k] = 0
        for p in range(source_ptr[s], source_ptr[s + 1]):
            unexplained = pair_value[p] - below[s]
            for link in range(pair_ptr[p], pair_ptr[p + 1]):
                node = pair_node[link]
                residual = unexplained - own[node]
                for k in range(plain):
                    out[s, k] += grad[node, k]
                for k in range(weighted):
                    out[s, plain + k] += residual * grad[node, plain + k]
                    unweighted[k] += grad[node, plain + k]
        moved = np.float32(0)
        for k in range(weighted):
            moved -= unweighted[k] * values[s, plain + k]
        out_below[s] = moved
