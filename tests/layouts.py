"""Random layouts, shared by the tests of what walks over links."""

import numpy as np
import torch
from torch import Tensor

from evichain.evidence.plan_layout import Layout


def a_layout(nodes: int, sources: int, links: int, seed: int = 0) -> Layout:
    """Random links between sources and nodes, of a few levels; some sources without any."""
    noise = np.random.default_rng(seed)
    source, node = noise.integers(0, sources, links), np.sort(noise.integers(0, nodes, links))
    value = noise.integers(1, 6, links)
    pairs, pair_of_link = np.unique(source * 10 + value, return_inverse=True)
    back = np.argsort(pair_of_link, kind="stable")
    return Layout(
        source_ptr=np.searchsorted(pairs // 10, np.arange(sources + 1)).astype(np.int64),
        pair_source=(pairs // 10).astype(np.int32),
        pair_value=(pairs % 10).astype(np.float32),
        node_ptr=np.searchsorted(node, np.arange(nodes + 1)).astype(np.int64),
        link_pair=pair_of_link.astype(np.int32),
        pair_ptr=np.searchsorted(pair_of_link[back], np.arange(len(pairs) + 1)).astype(np.int64),
        pair_node=node[back].astype(np.int32),
    )


def links_of(layout: Layout) -> tuple[Tensor, Tensor, Tensor]:
    """Node, source and rating of every link."""
    nodes = np.repeat(np.arange(len(layout.node_ptr) - 1), np.diff(layout.node_ptr))
    pairs = layout.link_pair
    value = torch.from_numpy(layout.pair_value[pairs])
    return torch.from_numpy(nodes), torch.from_numpy(layout.pair_source[pairs]), value
