import numpy as np
import pytest
import torch
from tests.layouts import a_layout, links_of

from evichain import kernels
from evichain.evidence.plan_layout import lay_out_links
from evichain.model.ops.ridge import solve
from evichain.model.ops.segment_sums import evidence_sums


@pytest.mark.parametrize("size", [1, 3, 24, 57])
@pytest.mark.parametrize("links", [700, 90, 20])
def test_the_ridge_solution_and_its_gradients(size: int, links: int) -> None:
    torch.manual_seed(0)
    layout = a_layout(6, 9, links)
    node, source, value = links_of(layout)
    keys = torch.randn(9, size, requires_grad=True)
    below = torch.randn(9, requires_grad=True)
    own = torch.randn(6, requires_grad=True)
    ridge = torch.rand(size).add(0.5).requires_grad_()
    push = torch.randn(6, size)
    targets = value - below[source] - own[node]
    outer = keys[source].unsqueeze(2) * keys[source].unsqueeze(1)
    matrices = torch.zeros(6, size, size).index_add(0, node, outer) + torch.diag(ridge)
    right = torch.zeros(6, size).index_add(0, node, targets.unsqueeze(1) * keys[source])
    theirs = torch.linalg.solve(matrices, right)
    ours, squares = solve(keys, below, own, ridge, layout)
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(squares, torch.zeros(6).index_add(0, node, targets.square()))
    inputs = (keys, below, own, ridge)
    for mine, plainly in zip(
        torch.autograd.grad(ours, inputs, push),
        torch.autograd.grad(theirs, inputs, push),
        strict=True,
    ):
        torch.testing.assert_close(mine, plainly, atol=1e-3, rtol=1e-3)


def test_evidence_that_does_not_fit_in_a_panel() -> None:
    """With long keys, 140 pieces are few, but more than a panel holds."""
    torch.manual_seed(0)
    count, size = 140, 256
    ptr, others = np.array([0, count]), np.arange(count, dtype=np.int32)
    layout, _ = lay_out_links(ptr, others, np.ones(count, np.float32), np.ones(count, np.bool_))
    keys = torch.randn(count, size)
    solved, _ = solve(keys, torch.zeros(count), torch.zeros(1), torch.ones(size), layout)
    expected = torch.linalg.solve(keys.T @ keys + torch.eye(size), keys.sum(dim=0))
    torch.testing.assert_close(solved[0], expected, atol=1e-4, rtol=1e-4)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layout = a_layout(800, 900, 20_000)
    keys = torch.randn(900, 8, requires_grad=True)
    below, own = torch.randn(900), torch.randn(800)
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(kernels, "thread_count", lambda threads=threads: threads)
        sums = torch.cat(evidence_sums(keys, keys, below, own, layout), dim=1)
        solved, _ = solve(keys, below, sums[:, 0], torch.ones(8), layout)
        (grad,) = torch.autograd.grad(solved.sum() + sums.square().sum(), keys)
        results.append((sums, solved, grad))
    for others in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], others, strict=True))
