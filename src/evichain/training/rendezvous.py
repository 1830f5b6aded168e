"""The place of this process in a distributed run, as its environment says it.

Without PyTorch, because the command line asks before it needs any.
"""

import os

from evichain.errors import SettingsError

RENDEZVOUS = "EVICHAIN_RENDEZVOUS"
"""The rendezvous URL set by `evichain train --processes`; torchrun sets MASTER_ADDR instead."""

_RIGHT = "torchrun and --processes set it; without WORLD_SIZE, one process trains alone."


def rank_and_size() -> tuple[int, int]:
    """The number of this process, and how many there are; 0 and 1 if the variables are not set."""
    size = _number("WORLD_SIZE", 1) if "WORLD_SIZE" in os.environ else 1
    return (_number("RANK", 0, size - 1) if size > 1 else 0), size


def rendezvous_url() -> str:
    """The `init_method` for PyTorch."""
    if RENDEZVOUS in os.environ:
        return os.environ[RENDEZVOUS]
    _required("MASTER_ADDR")
    _number("MASTER_PORT", 0, 2**16 - 1)
    return "env://"


def _required(name: str) -> str:
    if not os.environ.get(name):
        raise SettingsError("is not set, but WORLD_SIZE is", where=name, right=_RIGHT)
    return os.environ[name]


def _number(name: str, low: int, high: int | None = None) -> int:
    given = _required(name)
    number = int(given) if given.isdecimal() else -1
    if number < low or (high is not None and number > high):
        wanted = f"from {low} on" if high is None else f"from {low} to {high}"
        raise SettingsError(f"{given!r} is not a whole number {wanted}", where=name, right=_RIGHT)
    return number
