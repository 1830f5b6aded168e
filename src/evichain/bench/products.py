"""Dense products: what arithmetic of a given size takes at the least, here and now."""

import time
from collections.abc import Iterable

import torch

Shape = tuple[int, int, int]
"""Of `(rows, wide) @ (wide, out)`."""


def seconds_of_products(shapes: Iterable[Shape], *, backward: bool) -> float:
    """The time of these products alone, and of both of the backward ones if asked for."""
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
    """How much longer something takes than products do; None where there are none."""
    return seconds / of_products if of_products else None
