import pytest
import torch

from evichain import kernels
from evichain.model.ops.dots import paired_dots


def test_dots_of_pairs_and_their_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    left = torch.randn(300, 11, requires_grad=True)
    right = torch.randn(200, 11, requires_grad=True)
    at_left, at_right = torch.randint(300, (5000,)), torch.randint(200, (5000,))
    push = torch.randn(5000)
    theirs = (left[at_left] * right[at_right]).sum(dim=1)
    expected = torch.autograd.grad(theirs, (left, right), push)
    bits = []
    for threads in (1, 3):
        monkeypatch.setattr(kernels, "thread_count", lambda threads=threads: threads)
        ours = paired_dots(left, right, at_left, at_right)
        found = torch.autograd.grad(ours, (left, right), push)
        bits.append((ours, *found))
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert all(torch.equal(*pair) for pair in zip(*bits, strict=True))


def test_no_pairs() -> None:
    nobody = torch.empty(0, dtype=torch.int64)
    rows = torch.ones(2, 3, requires_grad=True)
    found = paired_dots(rows, rows, nobody, nobody)
    assert found.shape == (0,)
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert rows.grad is not None
    assert not rows.grad.any()
