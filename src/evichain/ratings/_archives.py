"""Files in a folder or a zip archive, plain or compressed, as plain files.

What is packed is unpacked into a temporary folder piece by piece, so that memory stays small, and
up to a limit, so that a small file cannot blow up into one that fills the disk.
"""

import gzip
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NoReturn, Protocol

import zstandard

from evichain.errors import DataError

PACKED = (".gz", ".zst")
AGAIN = "Copy or download it again."
NO_FILE = (
    "is a pipe or a device, not a file",
    "Write it to a file first: it is read more than once.",
)
"""What is wrong with a path, and what would be right."""
_PIECE = 1 << 20
# Zstandard can say 128 KiB in 4 bytes, and gives all that a piece of input unpacks to at once.
_ZSTD_PIECE = 1 << 12
# Ratings as text pack 3 to 30 times; what packs more than this is no ratings file.
_MOST_RATIO = 300
_ALWAYS_ALLOWED = 64 << 20
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, zstandard.ZstdError)


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class Files:
    """The files of a folder or of a zip archive, by name, each as a plain file when asked for."""

    def __init__(self, root: Path, temporary: Path, archive: zipfile.ZipFile | None) -> None:
        self.root = root
        self._temporary = temporary
        self._archive = archive

    def names(self) -> list[str]:
        """All files except hidden ones and those that operating systems leave behind."""
        if self._archive is None:
            names = [path.name for path in self.root.iterdir() if path.is_file()]
        else:
            names = [info.filename for info in self._archive.infolist() if not info.is_dir()]
        hidden = (".", "__MACOSX")
        return sorted(
            name
            for name in names
            if not any(part.startswith(hidden) for part in PurePosixPath(name).parts)
        )

    def __contains__(self, name: str) -> bool:
        if self._archive is None:
            return (self.root / name).is_file()
        return name in self._archive.NameToInfo

    def label(self, name: str) -> str:
        """The file as named in messages."""
        if self._archive is None:
            return str(self.root / name)
        return f"{self.root} ({name})"

    def plain(self, name: str) -> Path:
        """A plain file with the content of `name`, good until the files are closed."""
        path = self.root / name
        if self._archive is not None:
            path = self._unzip(name)
        packing = packing_of(path)
        if PurePosixPath(name).suffix in PACKED and packing is None:
            raise DataError(
                f"named {PurePosixPath(name).suffix} but not compressed that way",
                where=self.label(name),
                right="Leave the suffix off a file that is not compressed.",
            )
        if packing is None:
            return path
        size = path.stat().st_size
        with self._damage_reported(name), path.open("rb") as file:
            if packing == ".zst":
                return self._unpack(_Zstd(file), name, size)
            with gzip.open(file) as source:
                return self._unpack(source, name, size)

    def _unzip(self, name: str) -> Path:
        assert self._archive is not None
        info = self._archive.getinfo(name)
        if info.flag_bits & 1:
            raise DataError("is encrypted", where=self.label(name), right="Unpack it first.")
        if info.file_size > self._limit(info.compress_size):
            self._too_large(name)
        with self._damage_reported(name), self._archive.open(info) as source:
            return self._unpack(source, name, info.compress_size)

    def _unpack(self, source: _Readable, name: str, packed_size: int) -> Path:
        limit = self._limit(packed_size)
        target = self.scratch()
        with target.open("wb") as sink:
            while piece := source.read(_PIECE):
                limit -= len(piece)
                if limit < 0:
                    self._too_large(name)
                sink.write(piece)
        return target

    def scratch(self) -> Path:
        """The path of a temporary file, removed when the files are closed."""
        return Path(tempfile.mkdtemp(dir=self._temporary)) / "plain"

    def _limit(self, packed_size: int) -> int:
        free = shutil.disk_usage(self._temporary).free
        return min(max(_ALWAYS_ALLOWED, packed_size * _MOST_RATIO), free * 9 // 10)

    def _too_large(self, name: str) -> NoReturn:
        raise DataError(
            f"unpacks to more than {_MOST_RATIO} times its size or than there is room for",
            where=self.label(name),
            right="If it really holds ratings, unpack it and give the plain file.",
        )

    @contextmanager
    def _damage_reported(self, name: str) -> Iterator[None]:
        try:
            yield
        except (*_DAMAGED, NotImplementedError) as error:
            raise damaged(self.label(name), error) from error


def packing_of(path: Path) -> str | None:
    """How a file is compressed, by its first bytes."""
    start = first_bytes(path)
    if start[:2] == b"\x1f\x8b":
        return ".gz"
    return ".zst" if start == b"\x28\xb5\x2f\xfd" else None


def first_bytes(path: Path) -> bytes:
    """The first four, which tell archives and Parquet."""
    with path.open("rb") as file:
        return file.read(4)


def damaged(where: str, error: Exception) -> DataError:
    """An archive that ends too early or is broken."""
    return DataError(
        f"damaged or cut short ({str(error) or type(error).__name__})", where=where, right=AGAIN
    )


def check_name(path: Path) -> None:
    """Refuse a name that is not valid text: not every program can open it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise DataError(
            "has a name that is not UTF-8", where=ascii(str(path)), right="Give it another name."
        ) from None


@contextmanager
def open_files(path: Path) -> Iterator[tuple[Files, str | None]]:
    """The files at a path, and which of them was meant if the path names one."""
    check_name(path)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise DataError(NO_FILE[0], where=str(path), right=NO_FILE[1])
        with tempfile.TemporaryDirectory(prefix="evichain-") as temporary:
            if path.is_dir():
                yield Files(path, Path(temporary), None), None
            elif path.suffix == ".zip" or first_bytes(path) == b"PK\x03\x04":
                with _opened_zip(path) as archive:
                    yield Files(path, Path(temporary), archive), None
            else:
                yield Files(path.parent, Path(temporary), None), path.name
    except FileNotFoundError as error:
        raise DataError("no such file", where=str(path), right="Check the path.") from error
    except OSError as error:
        raise DataError(
            f"cannot be read ({error})",
            where=str(path),
            right="It may be damaged or not for you to read, or the temporary folder is full.",
        ) from error


def _opened_zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (*_DAMAGED, ValueError) as error:
        raise damaged(str(path), error) from error


class _Zstd:
    """Reads Zstandard frames and, unlike the library's reader, notices a truncated last one."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._new = zstandard.ZstdDecompressor().decompressobj
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
        """The next piece, of any size; empty at the end."""
        while packed := self._rest or self._source.read(_ZSTD_PIECE):
            frame = self._frame = self._frame or self._new()
            piece = frame.decompress(packed)
            self._rest = frame.unused_data
            if frame.eof:
                self._frame = None
            if piece:
                return piece
        if self._frame is not None:
            raise EOFError("the last Zstandard frame is not complete")
        return b""
