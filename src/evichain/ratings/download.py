"""Data sets brought over the network into a folder, whole or not at all.

A set comes from the first of its sources that answers, and every file is verified, by its own
checksum or by that of its archive, before the set appears under its name.
"""

import json
import shutil
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from evichain.errors import DownloadError
from evichain.ratings._sources import Source, unpack

_MARKER = ".evichain.json"
_ABANDONED_SECONDS = 24 * 3600.0
_FAILURES = (
    DownloadError,
    KeyError,
    EOFError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def fetch_set(
    name: str, sources: Sequence[Source], cache: Path, *, force: bool = False, help: str = ""
) -> Path:
    """The folder of a data set, from the cache or else from the first source that works.

    The set is made in a temporary folder beside its final one and renamed, so that an interrupted
    download leaves nothing under its name and two at once do not disturb each other.

    Args:
        name: of the set, and of its folder.
        sources: in the order in which to try them.
        cache: the folder of all sets.
        force: fetch it even if it is there.
        help: what to do when no source works.
    """
    target = cache / name
    if not force and is_complete(target):
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _sweep(cache, name)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=cache) as workplace:
            made = _from_any(name, sources, Path(workplace), help)
            _publish(made, target, Path(workplace), force=force)
    except OSError as error:
        raise DownloadError(
            f"cannot be written ({error})",
            where=str(target),
            right="Make room there, or set EVICHAIN_CACHE to another folder.",
        ) from error
    return target


def is_complete(folder: Path) -> bool:
    """Whether a folder holds all that was fetched into it, at its full size."""
    try:
        files = _marker(folder)["files"]
        return all((folder / file).stat().st_size == size for file, size in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def note_of(folder: Path) -> str:
    """How a fetched set differs from the original, if it does."""
    return str(_marker(folder)["note"])


def _marker(folder: Path) -> dict[str, Any]:
    marker: dict[str, Any] = json.loads((folder / _MARKER).read_text())
    return marker


def _from_any(name: str, sources: Sequence[Source], workplace: Path, help: str) -> Path:
    failures = []
    for number, source in enumerate(sources):
        folder = workplace / str(number)
        made = folder / name
        made.mkdir(parents=True)
        try:
            unpack(source.download(folder), source.members, made)
        except _FAILURES as error:
            reason = error.what if isinstance(error, DownloadError) else f"damaged: {error}"
            failures.append(f"{source.said} ({reason})")
            shutil.rmtree(folder)
            continue
        sizes = {path.name: path.stat().st_size for path in sorted(made.iterdir())}
        marker = {"source": source.said, "note": source.note, "files": sizes}
        (made / _MARKER).write_text(json.dumps(marker, indent=1))
        return made
    raise DownloadError(f"could not be fetched from {'; '.join(failures)}", where=name, right=help)


def _publish(made: Path, target: Path, workplace: Path, *, force: bool) -> None:
    """Give a finished set its name; what stood there goes in the same moment."""
    try:
        made.rename(target)
        return
    except OSError:
        # A folder stands there: another process was quicker, or it is old or broken.
        if not target.exists():
            raise
    if not force and is_complete(target):
        return
    with suppress(FileNotFoundError):
        target.rename(workplace / "replaced")
    try:
        made.rename(target)
    except OSError:
        if not is_complete(target):
            raise


def _sweep(cache: Path, name: str) -> None:
    """Remove what downloads that were killed left behind."""
    for leftover in cache.glob(f".{name}-*"):
        with suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(leftover)
