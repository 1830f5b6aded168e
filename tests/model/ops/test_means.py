import numpy as np
import pytest
import torch

from evichain.evidence.plan_layout import Layout
from evichain.model.ops.means import evidence_mean, pair_activations


def a_layout() -> Layout:
    """Three sources with two, none and one pair; two nodes that share a pair."""
    return Layout(
        source_ptr=np.array([0, 2, 2, 3]),
        pair_source=np.array([0, 0, 2], np.int32),
        pair_value=np.array([1.0, 5.0, 3.0], np.float32),
        node_ptr=np.array([0, 2, 5]),
        link_pair=np.array([0, 2, 0, 1, 2], np.int32),
        pair_ptr=np.array([0, 2, 3, 5]),
        pair_node=np.array([0, 1, 1, 0, 1], np.int32),
    )


VARIANTS = np.array([1, 1], np.int32), np.array([0, 2], np.int32)


def plain_activations(sources: torch.Tensor, weight: torch.Tensor, layout: Layout) -> torch.Tensor:
    source, value = torch.from_numpy(layout.pair_source), torch.from_numpy(layout.pair_value)
    return torch.relu(sources[source] + value[:, None] * weight)


def plain_mean(pairs: torch.Tensor, layout: Layout) -> torch.Tensor:
    hot = torch.relu(pairs)
    first, second = hot[[0, 2]].mean(0), hot[[0, 1, 2]].mean(0)
    return torch.stack([first, second, hot[[1, 2]].mean(0), hot[[0, 1]].mean(0)])


@pytest.mark.parametrize("width", [1, 7, 16])
def test_pair_activations_and_its_gradients(width: int) -> None:
    torch.manual_seed(0)
    layout = a_layout()
    sources = torch.randn(3, width, requires_grad=True)
    weight = torch.randn(width, requires_grad=True)
    push = torch.randn(3, width)
    results = []
    for function in (pair_activations, plain_activations):
        out = function(sources, weight, layout)
        results.append((out, *torch.autograd.grad(out, (sources, weight), push)))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("width", [1, 7, 16])
def test_mean_with_what_is_left_out_and_its_gradient(width: int) -> None:
    torch.manual_seed(0)
    layout = a_layout()
    pairs = torch.randn(3, width, requires_grad=True)
    push = torch.randn(4, width)
    ours = evidence_mean(pairs, layout, *VARIANTS)
    theirs = plain_mean(pairs, layout)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours, pairs, push), torch.autograd.grad(theirs, pairs, push)
    )
