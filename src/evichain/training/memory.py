"""Keeps freed memory for the next step.

Every step frees and allocates the same hundreds of megabytes. By default the C library returns
large blocks to the system, which then clears every page again: up to half of a step's time.
"""

import ctypes
import sys
from functools import cache

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_LARGEST = 2**30


@cache
def keep_freed_memory() -> bool:
    """Ask glibc to keep what this process frees; False with another C library."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST)) and bool(mallopt(_TRIM_THRESHOLD, _LARGEST))
