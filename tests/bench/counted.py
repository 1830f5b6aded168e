"""The matrix products that PyTorch is really asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from evichain.bench.products import Shape

aten = torch.ops.aten
OPERANDS = {aten.mm.default: (0, 1), aten.addmm.default: (1, 2)}


class Products(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes down the shape of each product."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.shapes: list[Shape] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func in OPERANDS:
            left, right = (args[position].shape for position in OPERANDS[func])
            self.shapes.append((left[0], left[1], right[1]))
        elif func == aten.linear.default:  # whole, where no gradient is wanted
            (rows, wide), (out, _) = args[0].shape, args[1].shape
            self.shapes.append((rows, wide, out))
        return func(*args, **(kwargs or {}))
