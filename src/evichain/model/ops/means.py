"""The two operations of a mean generator that are not matrix products, with their gradients.

`pair_activations` goes from sources to (source, rating) pairs, `evidence_mean` from pairs to the
means of live links. Both write each row once, in order, on all cores, and so give the same bits
for any number of threads.
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
from evichain.tensors import array_of


def pair_activations(
    sources: Tensor, weight: Tensor, layout: Layout | torch_ops.EvidenceTables
) -> Tensor:
    """`relu(sources[s] + r * weight)` for each pair (s, r)."""
    if isinstance(layout, torch_ops.EvidenceTables):
        return torch_ops.pair_activations(sources, weight, layout)
    result: Tensor = _PairActivations.apply(sources, weight, layout)  # type: ignore[no-untyped-call]
    return result


def evidence_mean(
    pairs: Tensor, layout: Layout | torch_ops.EvidenceTables, variant_node: Ints, variant_pair: Ints
) -> Tensor:
    """The mean of `relu(pairs)` over each node's links, then one row per variant.

    A variant is its node's mean with one pair left out.
    """
    if isinstance(layout, torch_ops.EvidenceTables):
        variants = (torch.from_numpy(v).to(pairs.device) for v in (variant_node, variant_pair))
        return torch_ops.evidence_mean(pairs, layout, *variants)
    arguments = (pairs, layout, variant_node, variant_pair)
    result: Tensor = _EvidenceMean.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


class _PairActivations(Function):
    @staticmethod
    def forward(ctx: Any, sources: Tensor, weight: Tensor, layout: Layout) -> Tensor:
        out = torch.empty(len(layout.pair_value), len(weight))
        given = sources.detach().numpy(), array_of(weight), layout.source_ptr, layout.pair_value
        in_threads(_pair_activations, len(layout.source_ptr) - 1, *given, out.numpy())
        ctx.layout = layout
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        (grad,) = grads
        (out,) = ctx.saved_tensors
        layout: Layout = ctx.layout
        masked = torch.empty_like(out)
        sources = torch.empty(len(layout.source_ptr) - 1, out.shape[1])
        given = grad.contiguous().numpy(), out.numpy(), layout.source_ptr
        made = masked.numpy(), sources.numpy()
        in_threads(_pair_activations_back, len(layout.source_ptr) - 1, *given, *made)
        weight = torch.from_numpy(layout.pair_value) @ masked
        return sources, weight, None


class _EvidenceMean(Function):
    @staticmethod
    def forward(
        ctx: Any, pairs: Tensor, layout: Layout, variant_node: Ints, variant_pair: Ints
    ) -> Tensor:
        nodes = len(layout.node_ptr) - 1
        out = torch.empty(nodes + len(variant_node), pairs.shape[1])
        values, rows = pairs.detach().numpy(), out.numpy()
        in_threads(_mean, nodes, values, layout.node_ptr, layout.link_pair, rows)
        given = values, layout.node_ptr, variant_node, variant_pair
        in_threads(_leave_out, len(variant_node), *given, nodes, rows)
        ctx.layout, ctx.variants = layout, (variant_node, variant_pair)
        ctx.save_for_backward(pairs)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        (pairs,) = ctx.saved_tensors
        layout: Layout = ctx.layout
        variant_node, variant_pair = ctx.variants
        grad = grads[0].contiguous().numpy()
        values = pairs.detach().numpy()
        nodes = len(layout.node_ptr) - 1
        shares = np.empty((nodes, grad.shape[1]), np.float32)
        in_threads(_share, nodes, grad, layout.node_ptr, shares)
        if len(variant_node):
            _share_variants(grad, layout.node_ptr, variant_node, nodes, shares)
        out = torch.empty_like(pairs)
        in_threads(
            _mean_back, len(values), shares, values, layout.pair_ptr, layout.pair_node, out.numpy()
        )
        if len(variant_node):
            _leave_out_back(
                grad, values, layout.node_ptr, variant_node, variant_pair, nodes, out.numpy()
            )
        return out, None, None, None


@fast_kernel
def _pair_activations(
    start: int,
    stop: int,
    sources: Floats,
    weight: Floats,
    source_ptr: Longs,
    values: Floats,
    out: Floats,
) -> None:
    for s in range(start, stop):
        for p in range(source_ptr[s], source_ptr[s + 1]):
            value = values[p]
            for k in range(out.shape[1]):
                out[p, k] = max(sources[s, k] + value * weight[k], np.float32(0))


@fast_kernel
def _pair_activations_back(
    start: int,
    stop: int,
    grad: Floats,
    out: Floats,
    source_ptr: Longs,
    masked: Floats,
    sources: Floats,
) -> None:
    for s in range(start, stop):
        for k in range(out.shape[1]):
            sources[s, k] = 0
        for p in range(source_ptr[s], source_ptr[s + 1]):
            for k in range(out.shape[1]):
                part = grad[p, k] if out[p, k] > 0 else np.float32(0)
                masked[p, k] = part
                sources[s, k] += part


@fast_kernel
def _mean(
    start: int, stop: int, pairs: Floats, node_ptr: Longs, link_pair: Ints, out: Floats
) -> None:
    width = pairs.shape[1]
    for node in range(start, stop):
        for k in range(width):
            out[node, k] = 0
        for link in range(node_ptr[node], node_ptr[node + 1]):
            p = link_pair[link]
            for k in range(width):
                out[node, k] += max(pairs[p, k], np.float32(0))
        scale = np.float32(1) / np.float32(node_ptr[node + 1] - node_ptr[node])
        for k in range(width):
            out[node, k] *= scale


@fast_kernel
def _leave_out(
    start: int,
    stop: int,
    pairs: Floats,
    node_ptr: Longs,
    variant_node: Ints,
    variant_pair: Ints,
    nodes: int,
    out: Floats,
) -> None:
    for v in range(start, stop):
        node, p = variant_node[v], variant_pair[v]
        count = np.float32(node_ptr[node + 1] - node_ptr[node])
        scale = np.float32(1) / (count - np.float32(1))
        for k in range(pairs.shape[1]):
            out[nodes + v, k] = (count * out[node, k] - max(pairs[p, k], np.float32(0))) * scale


@fast_kernel
def _share(start: int, stop: int, grad: Floats, node_ptr: Longs, shares: Floats) -> None:
    for node in range(start, stop):
        scale = np.float32(1) / np.float32(node_ptr[node + 1] - node_ptr[node])
        for k in range(grad.shape[1]):
            shares[node, k] = grad[node, k] * scale


@fast_kernel
def _share_variants(
    grad: Floats, node_ptr: Longs, variant_node: Ints, nodes: int, shares: Floats
) -> None:
    for v in range(len(variant_node)):
        node = variant_node[v]
        scale = np.float32(1) / np.float32(node_ptr[node + 1] - node_ptr[node] - 1)
        for k in range(grad.shape[1]):
            shares[node, k] += grad[nodes + v, k] * scale


@fast_kernel
def _mean_back(
    start: int,
    stop: int,
    shares: Floats,
    pairs: Floats,
    pair_ptr: Longs,
    pair_node: Ints,
    out: Floats,
) -> None:
    width = pairs.shape[1]
    for p in range(start, stop):
        for k in range(width):
            out[p, k] = 0
        for link in range(pair_ptr[p], pair_ptr[p + 1]):
            node = pair_node[link]
            for k in range(width):
                out[p, k] += shares[node, k]
        for k in range(width):
            if pairs[p, k] <= 0:
                out[p, k] = 0


@fast_kernel
def _leave_out_back(
    grad: Floats,
    pairs: Floats,
    node_ptr: Longs,
    variant_node: Ints,
    variant_pair: Ints,
    nodes: int,
    out: Floats,
) -> None:
    for v in range(len(variant_node)):
        node, p = variant_node[v], variant_pair[v]
        scale = np.float32(1) / np.float32(node_ptr[node + 1] - node_ptr[node] - 1)
        for k in range(pairs.shape[1]):
            if pairs[p, k] > 0:
                out[p, k] -= grad[nodes + v, k] * scale
