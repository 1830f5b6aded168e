"""What this process has used of the machine."""

import sys


def peak_bytes() -> int | None:
    """The most memory this process has had resident, where the system tells.

    Pages of mapped files count as far as they were looked at, although the system can take them
    back at any time.
    """
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
