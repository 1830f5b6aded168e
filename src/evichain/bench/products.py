"""Dense matrix products of the size of a generator's arithmetic: the least time it can take."""

import time
from collections.abc import Iterable

import torch

from evichain.evidence.plan import Block
from evichain.model.channels import ChannelGenerator
from evichain.model.generator import Generator
from evichain.model.mean import MeanGenerator

Shape = tuple[int, int, int]
"""Of `(rows, wide) @ (wide, out)`."""


def block_products(generator: Generator, below: int, block: Block) -> list[Shape]:
    """The products that a generator computes for a block, from so many rows one depth below."""
    assert block.layout is not None
    if isinstance(generator, MeanGenerator):
        width, pairs = generator.last.in_features, len(block.layout.pair_value)
        made = len(block.entities) + len(block.variant_node)
        return [
            (below, generator.first.in_features - 1, width),
            *((pairs, width, width) for _ in generator.middle),
            (made, width, generator.last.out_features),
        ]
    assert isinstance(generator, ChannelGenerator)
    keys, layers = generator.sizes[0], (generator.direct, generator.hidden, generator.last)
    return [
        (below, generator.project.in_features, generator.project.out_features),
        (len(block.layout.link_pair), keys, keys),
        *((len(block.entities), each.in_features, each.out_features) for each in layers),
    ]


def seconds_of_products(shapes: Iterable[Shape], *, backward: bool) -> float:
    """The time of these products, and of the two products of their gradients if `backward`."""
    took = 0.0
    for rows, wide, out in shapes:
        left, weight, grad = torch.ones(rows, wide), torch.ones(wide, out), torch.ones(rows, out)
        begun = time.perf_counter()
        left @ weight
        if backward:
            grad @ weight.T
            left.T @ grad
        took += time.perf_counter() - begun
    return took


def ratio(seconds: float, of_products: float) -> float | None:
    """The time over that of the products; None if there are none."""
    return seconds / of_products if of_products else None
