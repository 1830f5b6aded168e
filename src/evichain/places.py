"""Gives what was made beside its final name that name, and loses nothing on the way."""

import shutil
from pathlib import Path


def put(made: Path, final: Path, *, aside: Path) -> None:
    """Rename a file or folder to its final name; where that fails, what had the name keeps it.

    Args:
        aside: where a folder of that name waits until the new one is in its place, as a
            folder cannot be replaced in one step.
    """
    if not final.is_dir() or final.is_symlink():
        made.replace(final)
        return
    final.rename(aside)
    try:
        made.replace(final)
    except BaseException:
        aside.rename(final)
        raise
    shutil.rmtree(aside, ignore_errors=True)
