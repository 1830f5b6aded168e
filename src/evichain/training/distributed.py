"""Data-parallel training: several processes that train one model.

A batch is the same for any number of processes, and all its targets are hidden from the evidence.
Each process generates a share of the embeddings of every depth and side, the processes exchange
them, and each has a share of the targets. Gradients are summed, so a step equals that of one
process up to rounding. With cycle blocking an embedding depends on who asks for it, so each
process generates all that its own targets need.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from evichain.errors import DistributedError
from evichain.training.device import CPU
from evichain.training.rendezvous import rank_and_size, rendezvous_url


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a run, and which of them this one is."""

    rank: int = 0
    size: int = 1

    @classmethod
    def here(cls) -> "ProcessGroup":
        """The group that `torch.distributed` was started with, or a single process."""
        if dist.is_available() and dist.is_initialized():
            return cls(dist.get_rank(), dist.get_world_size())
        return cls()

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and shows progress."""
        return self.rank == 0

    def share(self, count: int) -> slice:
        """This process's part of `count` elements."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def total(self, values: Sequence[float]) -> list[float]:
        """The sums of numbers over all processes."""
        if self.size == 1:
            return list(values)
        sums = torch.tensor(values, dtype=torch.float64)
        with _lost_process_reported():
            dist.all_reduce(sums)
        return [float(value) for value in sums]

    def add_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Replace this process's gradients by the sum over all processes.

        A parameter without a gradient in any process keeps none, so that the optimizer skips it,
        as it would in one process.
        """
        if self.size == 1:
            return
        wanted = list(parameters)
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in wanted]
        present = [float(p.grad is not None) for p in wanted]
        sums = torch.cat([grads[0].new_tensor(present), *(grad.flatten() for grad in grads)])
        with _lost_process_reported():
            dist.all_reduce(sums)
        counts, *parts = torch.split(sums, [len(wanted), *(grad.numel() for grad in grads)])
        for parameter, part, count in zip(wanted, parts, counts.tolist(), strict=True):
            parameter.grad = part.view_as(parameter).clone() if count else None

    def exchange(self, rows: Tensor, share: slice, count: int) -> Tensor:
        """The rows of all processes; their gradient is the sum over all processes.

        Args:
            rows: the rows of this process.
            share: where they are among all rows.
            count: how many rows there are in all.
        """
        whole: Tensor = _Exchange.apply(rows, share, count)  # type: ignore[no-untyped-call]
        return whole

    def broadcast(self, tensors: Iterable[Tensor]) -> None:
        """Copy the tensors of the first process to all others."""
        if self.size > 1:
            with _lost_process_reported():
                for tensor in tensors:
                    dist.broadcast(tensor, src=0)


class _Exchange(Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, share: slice, count: int) -> Tensor:
        ctx.share = share
        whole = rows.new_zeros(count, rows.shape[1])
        whole[share] = rows.detach()
        with _lost_process_reported():
            dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        whole = grads[0].clone()
        with _lost_process_reported():
            dist.all_reduce(whole)
        return whole[ctx.share], None, None


SINGLE_PROCESS = ProcessGroup()


@contextmanager
def process_group_from_environment(device: torch.device = CPU) -> Iterator[ProcessGroup]:
    """The group in which torchrun or `evichain train --processes` started this process.

    It communicates over gloo, and over nccl for tensors on a GPU.
    """
    rank, size = rank_and_size()
    if size == 1 or not dist.is_available() or dist.is_initialized():
        yield ProcessGroup.here()
        return
    # On import, its functions take the current group as a default argument. The optimizer would
    # import it later and so keep the group and its threads until the interpreter exits, where
    # such a thread can abort the process. Imported here, there is no group to keep.
    import torch.distributed.nn.functional  # noqa: F401

    url = rendezvous_url()
    with _lost_process_reported():
        dist.init_process_group(_backend(device), init_method=url, rank=rank, world_size=size)
    try:
        yield ProcessGroup.here()
    finally:
        dist.destroy_process_group()


def _backend(device: torch.device) -> str:
    return "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"


@contextmanager
def _lost_process_reported() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise DistributedError(
            f"another process of this run has stopped ({str(error).splitlines()[0]})",
            right="Start the run again; --resume continues from its checkpoint.",
        ) from error
