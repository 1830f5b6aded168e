"""What a process has used of the machine, how it stands back, and work in one of its own."""

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
    """The most memory a process has had resident, this one by default, where the system tells.

    It counts from when its program was started; only where that is not told, what the process
    was before, a copy of the one that started it, counts too. Pages of mapped files count as far
    as they were looked at, although the system can take them back at any time.
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


def lower_priority(steps: int = 10) -> None:
    """Let all others go before this thread, where the system tells threads apart and allows it."""
    if sys.platform != "linux":
        return
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), steps)


def in_own_process(
    work: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """Do a piece of work in a process of its own, whose memory is then that of the work."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        try:
            return process.submit(work, *arguments, **named).result()
        except BrokenProcessPool as error:
            raise MachineError(
                "the process that did the work was ended, most likely because memory ran out",
                right="Use less data, smaller settings, or a machine with more memory.",
            ) from error
