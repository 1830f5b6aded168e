"""Makes things beside their final name, so that there is all of one or nothing under it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def beside(final: Path) -> Iterator[Path]:
    """A name to make a file or folder by, which takes its final name's place at the end.

    It is on the disk before it does. After an error it is removed, and what had the final name
    keeps it. Folders above are made.
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
def file_beside(final: Path) -> Iterator[Path]:
    """The same for a file, which is on the disk before it replaces another; never a folder."""
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
    """Rename a file or folder to its final name; where that fails, what had the name keeps it.

    Args:
        old: where a folder of that name waits until the new one is in its place, as a
            folder cannot be replaced in one step.
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
