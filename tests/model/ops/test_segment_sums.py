import pytest
import torch
from tests.layouts import a_layout, links_of

from evichain.model.ops.segment_sums import evidence_sums


@pytest.mark.parametrize(("plain", "weighted"), [(0, 1), (3, 5), (16, 17)])
def test_totals_and_their_gradients(plain: int, weighted: int) -> None:
    torch.manual_seed(0)
    layout = a_layout(5, 7, 40)
    node, source, value = links_of(layout)
    inputs = [
        torch.randn(7, plain, requires_grad=True),
        torch.randn(7, weighted, requires_grad=True),
        torch.randn(7, requires_grad=True),
        torch.randn(5, requires_grad=True),
    ]
    push = torch.randn(5, plain + weighted)
    p, w, below, own = inputs
    ours = torch.cat(evidence_sums(p, w, below, own, layout), dim=1)
    residual = (value - below[source] - own[node]).unsqueeze(1)
    each = torch.cat([p[source], residual * w[source]], dim=1)
    theirs = torch.zeros(5, plain + weighted).index_add(0, node, each)
    torch.testing.assert_close(ours, theirs)
    for mine, plainly in zip(
        torch.autograd.grad(ours, inputs, push),
        torch.autograd.grad(theirs, inputs, push),
        strict=True,
    ):
        torch.testing.assert_close(mine, plainly)
