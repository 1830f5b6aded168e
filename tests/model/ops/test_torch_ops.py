"""Ordinary operations give what kernels give, however the tables are cut.

That chains with either agree with the recursion is tested beside it.
"""

import numpy as np
import pytest
import torch
from tests.layouts import a_layout
from torch import Tensor

from evichain.evidence.plan_layout import Layout
from evichain.model.ops import torch_ops
from evichain.model.ops.means import evidence_mean, pair_activations
from evichain.model.ops.ridge import solve
from evichain.model.ops.segment_sums import evidence_sums
from evichain.model.ops.torch_ops import EvidenceTables


def everything(layout: Layout | EvidenceTables, inputs: list[Tensor]) -> list[Tensor]:
    """What the operations make of some inputs, and the gradients of them."""
    rows, below, own, ridge = inputs
    variants = np.array([3, 3, 40], np.int32), np.array([0, 5, 9], np.int32)
    solved, squares = solve(rows, below, own, ridge, layout)
    made = [
        evidence_mean(pair_activations(rows, ridge, layout) - 1, layout, *variants),
        *evidence_sums(rows[:, :2], rows, below, own, layout),
        solved,
    ]
    push = sum((each * torch.linspace(-1, 1, each.shape[1])).sum() for each in made)
    assert isinstance(push, Tensor)
    return [*made, squares, *torch.autograd.grad(push, inputs)]


@pytest.mark.parametrize("positions", [1, 100, 1 << 20])
def test_they_agree_with_the_kernels(monkeypatch: pytest.MonkeyPatch, positions: int) -> None:
    monkeypatch.setattr(torch_ops, "_POSITIONS", positions)
    torch.manual_seed(0)
    layout = a_layout(50, 60, 1500)
    tables = EvidenceTables.of(layout, torch.device("cpu"))
    assert (len(tables.tables) == 50) == (positions == 1)
    inputs = [torch.randn(60, 5), torch.randn(60), torch.randn(50), torch.rand(5) + 0.5]
    inputs = [each.requires_grad_() for each in inputs]
    for ours, theirs in zip(everything(tables, inputs), everything(layout, inputs), strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-3, rtol=1e-4)


def test_at_least_half_of_the_places_are_taken() -> None:
    tables = EvidenceTables.of(a_layout(300, 9, 2000), torch.device("cpu")).tables
    assert sum(len(table.nodes) for table in tables) == 300
    for table in tables:
        assert 2 * table.taken.sum() >= table.taken.numel()
