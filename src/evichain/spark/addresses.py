"""Where ratings and pairs lie, as Spark is told; what is on this machine is looked at first."""

import shlex
from pathlib import Path

from evichain.errors import DataError

TABLE = "table:"
"""What an address begins with that is the name of a table, and no path."""
_MAGIC = (b"PAR1", b"PARE")


def check_parquet(address: str, *, ratings: bool = True) -> None:
    """Complain of a path on this machine that holds no Parquet, before Spark is started.

    Args:
        ratings: whether it should hold ratings, which can be converted.
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
    what = "no file in it is Parquet" if path.is_dir() else "is no Parquet file"
    raise DataError(what, where=address, right=right)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in _MAGIC
