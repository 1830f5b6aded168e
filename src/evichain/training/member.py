"""Which of several processes this one is, and where they meet, as the environment tells it."""

import os

from evichain.errors import SettingsError

RENDEZVOUS = "EVICHAIN_RENDEZVOUS"
"""Where the processes that `evichain train --processes` starts meet; torchrun has its own way."""

_RIGHT = "torchrun and --processes set it; without WORLD_SIZE, one process trains alone."


def rank_and_size() -> tuple[int, int]:
    """The number of this process, and how many there are; 0 and 1 where nothing is told."""
    size = _number("WORLD_SIZE", 1) if "WORLD_SIZE" in os.environ else 1
    return (_number("RANK", 0, size - 1) if size > 1 else 0), size


def meeting() -> str:
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
