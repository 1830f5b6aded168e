"""Atomic writes: a file or folder is made under a temporary name, then renamed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_atomically(final: Path) -> Iterator[Path]:
    """A temporary name for a file or folder, which is renamed to `final` at the end.

    It is synced to the disk before that. After an error it is removed, and an existing file or
    folder stays as it was. Missing parent folders are created.
    """
    final = final.absolute()
    with _workplace(final) as made:
        yield made
        for path in made.rglob("*") if made.is_dir() else (made,):
            if path.is_file():
                _sync(path)
        # Outside the workplace, which is removed whatever happens.
        put(made, final, old=Path(f"{made.parent}.old"))


@contextmanager
def write_file_atomically(final: Path) -> Iterator[Path]:
    """The same for a file, which replaces another in one step; never for a folder."""
    final = final.absolute()
    with _workplace(final) as made:
        yield made
        _sync(made)
        made.replace(final)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def _workplace(final: Path) -> Iterator[Path]:
    final.parent.mkdir(parents=True, exist_ok=True)
    folder = tempfile.TemporaryDirectory(
        prefix=f".{final.name}-", dir=final.parent, ignore_cleanup_errors=True
    )
    with folder as name:
        yield Path(name) / final.name


def put(made: Path, final: Path, *, old: Path) -> None:
    """Rename a file or folder to its final name; on an error, what had that name keeps it.

    Args:
        old: a temporary name for an existing folder, which cannot be replaced in one step.
    """
    if not final.is_dir() or final.is_symlink():
        made.replace(final)
        return
    final.rename(old)
    try:
        made.replace(final)
    except BaseException:
        old.rename(final)
        raise
    shutil.rmtree(old, ignore_errors=True)
