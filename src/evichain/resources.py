"""Peak memory, thread priority, and work in a separate process."""

import os
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

from evichain.errors import MachineError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def peak_bytes(process: int | None = None) -> int | None:
    """The peak resident memory of a process, by default this one; None if it is unknown.

    It is counted from the start of the program, except on systems that only report it since the
    fork, when the process was a copy of its parent. Pages of mapped files that were read count
    too, although the system can reclaim them at any time.
    """
    status = Path("/proc", "self" if process is None else str(process), "status")
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if found:
            return int(found[1]) * 1024
    if process is not None:
        return None
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def lower_priority() -> None:
    """Lower the priority of this thread, on systems that support it."""
    if sys.platform != "linux":
        return
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def in_own_process(
    work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """Run a function in a separate process, so that its peak memory is that of the function."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        try:
            return process.submit(work, *arguments, **named).result()
        except BrokenProcessPool as error:
            raise MachineError(
                "the worker process was killed, most likely because memory ran out",
                right="Use less data, smaller settings, or a machine with more memory.",
            ) from error
