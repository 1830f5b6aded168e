"""Outputs: existing ones are kept without `--force`, and none is ever incomplete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from evichain.atomic_write import write_atomically
from evichain.cli._errors import OutputError
from evichain.errors import EvichainError, cause_of

SPLITS = ("csv", "parquet", "ndjson")
"""The formats in which the parts of a split are written to a folder."""

# The files that evichain writes. A folder that contains anything else is never removed.
_SPLITS = [
    {f"{part}.{kind}" for part in parts}
    for kind in SPLITS
    for later in ((), ("later",))
    for items in ((), ("items",))
    for parts in (("train", "test", *later, *items),)
]
_GRAPH = {"levels.npy", "titles.parquet", "graph.json"} | {
    f"{side}_{name}"
    for side in ("user", "item")
    for name in ("indptr.npy", "indices.npy", "codes.npy", "keys.npy", "ids.parquet")
}
_MODEL = {"model.json", "model.safetensors"}
_SYNTHETIC = "synthetic.json"


def check_free(path: Path, *, force: bool, folder: bool = False) -> None:
    """Raise an error if an output could not be written, before the work is done.

    With `force` a file may replace a file, and a folder may replace one that is empty or was
    made by evichain.

    Args:
        folder: whether the output is a folder, which can only replace a folder.
    """
    check_parent(path)
    if not _is_utf_8(path):
        what, right = "the name is not UTF-8", "Give another name."
        raise OutputError(what, where=ascii(str(path)), right=right)
    if not (path.exists() or path.is_symlink()):
        return
    if folder != path.is_dir() or (folder and path.is_symlink()):
        what = "is a link, not a folder" if path.is_symlink() else "is not a folder"
        raise OutputError(
            what if folder else "is a folder",
            where=str(path),
            right="Give another name, or remove it yourself.",
        )
    if not force:
        right = "Give another name, or --force to replace it."
        raise OutputError("already exists", where=str(path), right=right)
    if path.is_dir() and any(path.iterdir()) and not _is_ours(path):
        raise OutputError(
            "is a folder with files that evichain did not make",
            where=str(path),
            right="Give another name, or remove it yourself.",
        )


def _is_utf_8(path: Path) -> bool:
    """Whether a name is UTF-8, as polars requires."""
    try:
        return bool(str(path).encode())
    except UnicodeEncodeError:
        return False


def _is_ours(folder: Path) -> bool:
    """Whether a folder contains a split, a graph, a model or synthetic ratings, and no more."""
    files, folders = _names(folder)
    if "model.json" in files and folders == {"graph"}:
        return files <= _MODEL and _is_graph(*_names(folder / "graph"))
    model = "model.json" in files and files <= _MODEL
    if _is_graph(files, folders) or _is_synthetic(files, folders):
        return True
    return not folders and (model or files in _SPLITS)


def _is_synthetic(files: set[str], folders: set[str]) -> bool:
    parts = all(name == _SYNTHETIC or fnmatch(name, "part-*.parquet") for name in files)
    return _SYNTHETIC in files and parts and not folders


def _is_graph(files: set[str], folders: set[str]) -> bool:
    return "graph.json" in files and files <= _GRAPH and not folders


def _names(folder: Path) -> tuple[set[str], set[str]]:
    """The names of the files and of the folders in a folder."""
    folders = {entry.name for entry in folder.iterdir() if entry.is_dir()}
    return {entry.name for entry in folder.iterdir()} - folders, folders


def check_parent(path: Path) -> None:
    """Raise an error if this file cannot be created; parent folders may be missing."""
    above = next(p for p in path.absolute().parents if p.exists())
    if not above.is_dir():
        raise OutputError("is not a folder", where=str(above), right="Give another name.")
    if not os.access(above, os.W_OK | os.X_OK):
        raise OutputError("cannot be written to", where=str(above), right="Give another folder.")


@contextmanager
def replacing(path: Path, *, force: bool, folder: bool = False) -> Iterator[Path]:
    """A temporary name to write to; renamed to `path` at the end, removed on an error.

    Args:
        folder: whether the output is a folder, which can only replace a folder.
    """
    check_free(path, force=force, folder=folder)
    made = path
    try:
        with write_atomically(path) as made:
            yield made
    except EvichainError as error:
        # The message has the temporary name, which the user did not give.
        what, where = (text.replace(str(made), str(path)) for text in (error.what, error.where))
        raise type(error)(what, where=where, right=error.right) from error
    except Exception as error:
        if not _is_write_error(error):
            raise
        right = "Choose a folder that is writable and has space."
        raise OutputError(
            f"cannot be written ({cause_of(error)})", where=str(path), right=right
        ) from error


def _is_write_error(error: Exception) -> bool:
    """Whether an error says that something cannot be written."""
    from polars.exceptions import PolarsError

    return isinstance(error, OSError | PolarsError)


def folder_size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
