"""Addresses of ratings and pairs for Spark; local paths are checked before Spark starts."""

import re
import shlex
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from evichain.errors import DataError

TABLE = "table:"
"""The prefix of an address that names a table, not a path."""
_MAGIC = (b"PAR1", b"PARE")
_SAME = {"s3a": "s3", "s3n": "s3"}
_ALTERNATIVES = re.compile(r"\{[^}]*\}")


def check_parquet(address: str, *, ratings: bool = True) -> None:
    """Raise an error for a local path without Parquet files, before Spark is started.

    Args:
        ratings: whether it should hold ratings; the error then says how to convert them.
    """
    path = Path(address)
    if address.startswith(TABLE) or "://" in address or not path.exists():
        return
    files = path.rglob("*") if path.is_dir() else [path]
    if any(_is_parquet(file) for file in files if file.is_file()):
        return
    wanted = path.with_suffix(".parquet")
    right = f"Give Parquet, or {TABLE}NAME."
    if ratings and wanted != path:
        right = shlex.join(["evichain", "data", "convert", str(path), str(wanted)])
    what = "no file in it is Parquet" if path.is_dir() else "is not a Parquet file"
    raise DataError(what, where=address, right=right)


def overlap(address: str, source: str) -> bool:
    """Whether two addresses are equal or one is inside the other; `source` may be a pattern.

    >>> overlap("out", "ratings"), overlap("./ratings/out/..", "file:ratings")
    (False, True)
    >>> [overlap(out, "hdfs:///in/*.parquet") for out in ("hdfs://host/in", "hdfs:///in/out")]
    [True, False]
    """
    if source.startswith(TABLE):
        return False
    (scheme, host, path), (other_scheme, other_host, other) = map(_position, (address, source))
    if scheme != other_scheme or (host and other_host and host != other_host):
        return False
    return all(
        part == wanted or fnmatchcase(part, _ALTERNATIVES.sub("*", wanted))
        for part, wanted in zip(path, other, strict=False)
    )


def _position(address: str) -> tuple[str, str, tuple[str, ...]]:
    """The scheme and the host of an address, and the parts of its path."""
    found = urlsplit(address)
    scheme = found.scheme if "://" in address or found.scheme == "file" else ""
    if scheme in ("", "file"):
        path = found.path if scheme else address
        return "file", "", Path(path).resolve().parts
    parts = PurePosixPath(f"/{found.path.lstrip('/')}").parts
    return _SAME.get(scheme, scheme), found.netloc, parts


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in _MAGIC
