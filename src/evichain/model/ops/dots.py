"""Dot products of many pairs of rows, with gradients, without copying a row for each pair."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding

from evichain.kernels import Floats, Longs, fast_kernel, in_threads
from evichain.model.ops.simd import add_row, dot_rows, padded_rows


def paired_dots(left: Tensor, right: Tensor, at_left: Tensor, at_right: Tensor) -> Tensor:
    """`left[at_left[n]] @ right[at_right[n]]` for each n."""
    if left.device.type != "cpu":
        return (embedding(at_left, left) * embedding(at_right, right)).sum(dim=1)
    rows = (padded_rows(left), padded_rows(right))
    found: Tensor = _PairedDots.apply(*rows, at_left, at_right)  # type: ignore[no-untyped-call]
    return found


class _PairedDots(Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, at_left: Tensor, at_right: Tensor) -> Tensor:
        out = torch.empty(len(at_left))
        rows = left.detach().numpy(), right.detach().numpy()
        in_threads(_dots, len(out), *rows, at_left.numpy(), at_right.numpy(), out.numpy())
        ctx.save_for_backward(left, right, at_left, at_right)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        left, right, at_left, at_right = ctx.saved_tensors
        grad = grads[0].contiguous().numpy()
        ways = ((left, at_left, right, at_right), (right, at_right, left, at_left))
        out = []
        for own, at_own, other, at_other in ways:
            moved = torch.zeros(own.shape)
            pairs = grad, other.detach().numpy(), at_own.numpy(), at_other.numpy()
            in_threads(_dots_back, len(moved), *pairs, moved.numpy())
            out.append(moved)
        return out[0], out[1], None, None


@fast_kernel
def _dots(
    start: int, stop: int, left: Floats, right: Floats, at_left: Longs, at_right: Longs, out: Floats
) -> None:
    size = left.shape[1]
    for n in range(start, stop):
        out[n] = dot_rows(left, at_left[n] * size, right, at_right[n] * size, size)


@fast_kernel
def _dots_back(
    start: int, stop: int, grad: Floats, others: Floats, at_own: Longs, at_other: Longs, out: Floats
) -> None:
    """The gradients of some rows; every thread goes through the pairs in the same order."""
    size = out.shape[1]
    for n in range(len(grad)):
        if start <= at_own[n] < stop:
            add_row(out, at_own[n] * size, grad[n], others, at_other[n] * size, size)
