"""Several processes that train one model: what each does, and how they agree.

A batch is the same whatever the number of processes, and the targets of all are hidden from the
evidence. Each process generates a share of the embeddings of every depth and side, which all of
them exchange, and has a share of the targets; the gradients are added up, so that a step is that
of one process but for the rounding of sums. With cycle blocking, where an embedding depends on who
asks, a process generates all that its targets need instead.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from evichain.errors import DistributedError, SettingsError
from evichain.training.device import CPU

RENDEZVOUS = "EVICHAIN_RENDEZVOUS"
"""Where the processes that `evichain train --processes` starts meet; torchrun has its own way."""

_RIGHT = "torchrun and --processes set it; without WORLD_SIZE, one process trains alone."


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a run, and which of them this one is."""

    rank: int = 0
    size: int = 1

    @classmethod
    def here(cls) -> "ProcessGroup":
        """That of the process group, where there is one; else a process alone."""
        if dist.is_available() and dist.is_initialized():
            return cls(dist.get_rank(), dist.get_world_size())
        return cls()

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def share(self, count: int) -> slice:
        """This process' part of `count` things."""
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
        """Put the sum of all processes' gradients in place of this one's.

        A parameter that nobody has a gradient of keeps none, so that the optimizer leaves it
        alone, as it would in one process.
        """
        if self.size == 1:
            return
        wanted = list(parameters)
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in wanted]
        there = [float(p.grad is not None) for p in wanted]
        sums = torch.cat([grads[0].new_tensor(there), *(grad.flatten() for grad in grads)])
        with _lost_process_reported():
            dist.all_reduce(sums)
        counts, *parts = torch.split(sums, [len(wanted), *(grad.numel() for grad in grads)])
        for parameter, part, count in zip(wanted, parts, counts.tolist(), strict=True):
            parameter.grad = part.view_as(parameter).clone() if count else None

    def exchange(self, rows: Tensor, share: slice, count: int) -> Tensor:
        """The rows of all processes, with their gradient: the sum of what all make of them.

        Args:
            rows: this process' own.
            share: which of them all those are.
            count: how many there are.
        """
        whole: Tensor = _Exchange.apply(rows, share, count)  # type: ignore[no-untyped-call]
        return whole

    def spread(self, tensors: Iterable[Tensor]) -> None:
        """Give every process the tensors of the one that is_first."""
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
    """The group that torchrun, or `evichain train --processes`, started this process in.

    It talks over gloo, and over nccl about what is on a graphics processor: the gradients.
    """
    rank, size = rank_and_size()
    if size == 1 or not dist.is_available() or dist.is_initialized():
        yield ProcessGroup.here()
        return
    # Its functions take the group there is at their import for their default: imported later, by
    # the optimizer, they would keep the group and its threads for the end of the interpreter,
    # which such a thread may turn into an abort.
    import torch.distributed.nn.functional  # noqa: F401

    place = rendezvous_url()
    with _lost_process_reported():
        dist.init_process_group(_backend(device), init_method=place, rank=rank, world_size=size)
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
            f"another process of this run has gone ({str(error).splitlines()[0]})",
            right="Start the run again; with --resume it goes on from its checkpoint.",
        ) from error


def rank_and_size() -> tuple[int, int]:
    """The number of this process, and how many there are; 0 and 1 where nothing is told."""
    size = _number("WORLD_SIZE", 1) if "WORLD_SIZE" in os.environ else 1
    return (_number("RANK", 0, size - 1) if size > 1 else 0), size


def rendezvous_url() -> str:
    """Where the processes meet, as PyTorch wants it."""
    if RENDEZVOUS in os.environ:
        return os.environ[RENDEZVOUS]
    _told("MASTER_ADDR")
    _number("MASTER_PORT", 0, 2**16 - 1)
    return "env://"


def _told(name: str) -> str:
    if not os.environ.get(name):
        raise SettingsError("is not set, but WORLD_SIZE is", where=name, right=_RIGHT)
    return os.environ[name]


def _number(name: str, low: int, high: int | None = None) -> int:
    told = _told(name)
    number = int(told) if told.isdecimal() else -1
    if number < low or (high is not None and number > high):
        wanted = f"from {low} on" if high is None else f"from {low} to {high}"
        raise SettingsError(f"{told!r} is no whole number {wanted}", where=name, right=_RIGHT)
    return number
