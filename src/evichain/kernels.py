"""Compiled kernels: how one is declared, and how one runs over a range on all cores.

Kernels release the interpreter's lock and write disjoint parts of their output. So plain threads
suffice, and any number of callers may run them at once, which numba's own parallel loops do not
allow on every platform.
"""

import inspect
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Codes = Bytes | Floats
Int = int | np.int32 | np.int64

Function = TypeVar("Function", bound=Callable[..., Any])

_SMALLEST_SHARE = 64


def kernel(function: Function) -> Function:
    """Compile a function over arrays; it is cached on disk and releases the lock."""
    return _compiled(function, fast=False)


def fast_kernel(function: Function) -> Function:
    """A kernel whose float sums may be reordered, which lets them use vector registers."""
    return _compiled(function, fast=True)


def _compiled(function: Function, *, fast: bool) -> Function:
    made: Any = njit(cache=True, nogil=True, fastmath=fast)(function)
    note_sources(made, function)
    # The cached code contains that of called kernels, which numba's cache key ignores.
    kept = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = (kept._source_stamp, made.kernel_sources)
    return cast(Function, made)


def note_sources(made: Any, *functions: Callable[..., Any]) -> None:
    """Set `made.kernel_sources` to a digest of all source code it is compiled from.

    That is the files of these functions, and the sources of all kernels that they use.
    """
    digest = blake2b(digest_size=16)
    for function in functions:
        digest.update(_content(inspect.getfile(function)))
        for _, known in sorted(function.__globals__.items()):
            digest.update(getattr(known, "kernel_sources", b""))
    made.kernel_sources = digest.digest()


@cache
def _content(path: str) -> bytes:
    return blake2b(Path(path).read_bytes(), digest_size=16).digest()


@cache
def thread_count() -> int:
    """As many threads as PyTorch uses by default: OMP_NUM_THREADS, or the cores we may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _thread_pool(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="evichain")


def in_threads(function: Callable[..., None], count: int, *arguments: Any) -> None:
    """Call `function(start, stop, *arguments)` for shares that cover `range(count)`.

    There are more shares than threads, so that one long share does not delay the others; the
    result must not depend on the shares.
    """
    threads = thread_count()
    shares = min(4 * threads, count // _SMALLEST_SHARE)
    if threads == 1 or shares <= 1:
        function(0, count, *arguments)
        return
    bounds = [count * i // shares for i in range(shares + 1)]

    def run(thread: int) -> None:
        for share in range(thread, shares, threads):
            function(bounds[share], bounds[share + 1], *arguments)

    # The process id keys the pool because threads do not survive a fork.
    others = [_thread_pool(os.getpid()).submit(run, thread) for thread in range(1, threads)]
    run(0)
    for other in others:
        other.result()
