"""Layers between hidden units and sparsely observed softmax units, with gradients.

A case (say, a user) sees some units (the items rated), each at one of K levels. `Seen` lists these
(case, unit) pairs; weights are [units, K, H]. Three sums over the pairs are all that is needed, and
each is the gradient of another:

    dots      d[p, k] = weights[unit_p, k] · hidden[case_p]
    gathered  h[c]    = Σ over p of case c, and k, of x[p, k] weights[unit_p, k]
    outer     g[u, k] = Σ over p of unit u of x[p, k] hidden[case_p]

Pairs are walked unit by unit, so that the weights of one stay in the cache while it lasts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from evichain.kernels import Floats, Ints, Longs, fast_kernel, in_threads
from evichain.tensors import array_of


@dataclass(frozen=True)
class Seen:
    """Pairs of cases and units, sorted by unit; those of unit u are `ptr[u]` to `ptr[u + 1]`."""

    cases: Ints
    ptr: Longs
    case_count: int

    @property
    def units(self) -> Longs:
        """The unit of each pair."""
        return np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))


def seen(cases: Ints, units: Ints, counts: tuple[int, int]) -> tuple[Seen, Longs]:
    """The pairs sorted by unit, and their original order.

    Args:
        counts: how many cases and units there are.
    """
    order = np.argsort(units, kind="stable")
    ptr = np.zeros(counts[1] + 1, np.int64)
    np.cumsum(np.bincount(units, minlength=counts[1]), out=ptr[1:])
    return Seen(cases[order], ptr, counts[0]), order


def up_to(codes: Tensor, levels: int) -> Tensor:
    """[pairs, K]: 1 for the levels up to that of each pair, else 0."""
    return (torch.arange(levels) <= codes.unsqueeze(1)).float()


def dots(hidden: Tensor, weights: Tensor, pairs: Seen) -> Tensor:
    """[pairs, K]: the score of each level of a pair's unit, from its case's hidden units."""
    result: Tensor = _Dots.apply(hidden, weights, pairs)  # type: ignore[no-untyped-call]
    return result


def dots_in_order(hidden: Tensor, weights: Tensor, cases: Ints, units: Ints) -> Tensor:
    """The dots of pairs in the order given, without a gradient."""
    pairs, order = seen(cases, units, (len(hidden), len(weights)))
    found = torch.empty(len(cases), weights.shape[1])
    found[torch.from_numpy(order)] = dots(hidden, weights, pairs)
    return found


def gathered(levels: Tensor, weights: Tensor, pairs: Seen) -> Tensor:
    """[cases, H]: the input of the hidden units from the observed units of a case.

    Args:
        levels: [pairs, K], how far each level of a pair's unit is on; no gradient is taken of it.
    """
    result: Tensor = _Gathered.apply(levels, weights, pairs)  # type: ignore[no-untyped-call]
    return result


def outer(levels: Tensor, hidden: Tensor, pairs: Seen) -> Tensor:
    """[units, K, H]: how often levels and hidden units are on together."""
    out = torch.empty(len(pairs.ptr) - 1, levels.shape[1], hidden.shape[1])
    arrays = array_of(levels), array_of(hidden), pairs.cases, pairs.ptr, out.numpy()
    in_threads(_outer, len(pairs.ptr) - 1, *arrays)
    return out


class _Dots(Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weights: Tensor, pairs: Seen) -> Tensor:
        out = torch.empty(len(pairs.cases), weights.shape[1])
        arrays = array_of(hidden), array_of(weights), pairs.cases, pairs.ptr, out.numpy()
        in_threads(_dots, len(pairs.ptr) - 1, *arrays)
        ctx.pairs = pairs
        ctx.save_for_backward(hidden, weights)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        hidden, weights = ctx.saved_tensors
        to_hidden = _gather(grads[0], weights, ctx.pairs)
        return to_hidden, outer(grads[0], hidden, ctx.pairs), None


class _Gathered(Function):
    @staticmethod
    def forward(ctx: Any, levels: Tensor, weights: Tensor, pairs: Seen) -> Tensor:
        ctx.pairs, ctx.levels = pairs, levels
        return _gather(levels, weights, pairs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
        return None, outer(ctx.levels, grads[0], ctx.pairs), None


def _gather(levels: Tensor, weights: Tensor, pairs: Seen) -> Tensor:
    out = torch.zeros(pairs.case_count, weights.shape[2])
    # Each thread has hidden units of its own: many units add to one case, in one fixed order.
    arrays = array_of(levels), array_of(weights), pairs.cases, pairs.ptr, out.numpy()
    in_threads(_gather_columns, weights.shape[2], *arrays)
    return out


@fast_kernel
def _add(total: Floats, factor: np.float32, row: Floats) -> None:
    for h in range(len(row)):
        total[h] += factor * row[h]


@fast_kernel
def _dots(
    start: int, stop: int, hidden: Floats, weights: Floats, cases: Ints, ptr: Longs, out: Floats
) -> None:
    for unit in range(start, stop):
        for p in range(ptr[unit], ptr[unit + 1]):
            row = hidden[cases[p]]
            for k in range(weights.shape[1]):
                weight = weights[unit, k]
                total = np.float32(0)
                for h in range(len(row)):
                    total += weight[h] * row[h]
                out[p, k] = total


@fast_kernel
def _gather_columns(
    start: int, stop: int, levels: Floats, weights: Floats, cases: Ints, ptr: Longs, out: Floats
) -> None:
    for unit in range(len(ptr) - 1):
        for p in range(ptr[unit], ptr[unit + 1]):
            row = out[cases[p], start:stop]
            for k in range(weights.shape[1]):
                on = levels[p, k]
                if on != 0:
                    _add(row, on, weights[unit, k, start:stop])


@fast_kernel
def _outer(
    start: int, stop: int, levels: Floats, hidden: Floats, cases: Ints, ptr: Longs, out: Floats
) -> None:
    for unit in range(start, stop):
        out[unit] = 0
        for p in range(ptr[unit], ptr[unit + 1]):
            row = hidden[cases[p]]
            for k in range(out.shape[1]):
                on = levels[p, k]
                if on != 0:
                    _add(out[unit, k], on, row)
