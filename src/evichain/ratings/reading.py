"""Ratings from files: any format, plain or packed, alone or in the folder they came in."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath

import polars as pl

from evichain.errors import DataError
from evichain.ratings._cleaning import RawTable, clean
from evichain.ratings._columns import ITEM
from evichain.ratings._containers import PACKED, Files, open_files
from evichain.ratings._faults import faults_explained
from evichain.ratings._formats import scan, scan_parquet
from evichain.ratings._titles import read_titles
from evichain.ratings.table import Ratings

# The names that ratings have in the sets people pass around, the most telling first.
_KNOWN = (
    "u.data",
    "ratings.dat",
    "ratings.csv",
    "ratings.parquet",
    "ratings.tsv",
    "ratings.ndjson",
    "ratings.jsonl",
)
_WHOLE = "ratings.parquet"
_SUFFIXES = (".inter", ".csv", ".tsv", ".parquet", ".ndjson", ".jsonl", ".dat", ".data")


def read_ratings(path: str | Path, *, format: str | None = None) -> Ratings:
    """Read a ratings file, or the ratings of a folder or zip such as MovieLens is given out in.

    Args:
        path: CSV, TSV, Parquet, NDJSON, MovieLens `u.data`, `ratings.dat`, `ratings.csv` or
            RecBole `.inter`; plain, .gz, .zst or in a .zip; or a folder of part-*.parquet. Item
            titles are read from the file that these sets have them in, when it lies beside.
        format: csv, tsv, dat, inter, parquet or ndjson, where name and content mislead.

    Raises:
        DataError: naming the file, and the row where there is one.
    """
    path = Path(path).expanduser()
    with open_files(path) as (files, name):
        parts = [] if name or format else _parts(files)
        if not parts:
            return read_file(files, name or choose(files), format=format, name=str(path))
        table = _scan_parts(files, parts)
        with faults_explained(files.plain(parts[0]), table):
            frame, dropped = clean(table)
        titles = read_titles(files, _WHOLE, frame.schema[ITEM])
        return Ratings(frame, titles=titles, duplicates=dropped, name=str(path))


Titles = Callable[[pl.DataType], pl.DataFrame | None]


@contextmanager
def open_parquet(path: Path) -> Iterator[tuple[RawTable, Titles] | None]:
    """The rows of a Parquet file or of a folder of parts, not read yet; None for all else.

    With them comes what reads the titles beside them, given the type of the items' ids.
    """
    with open_files(path) as (files, name):
        parts = [name] if name else _parts(files)
        plain = [PurePosixPath(part).suffix.lower() in (".parquet", ".pq") for part in parts]
        if not parts or not all(plain):
            yield None
            return
        table = scan(files.plain(name), name, where=files.said(name)) if name else None
        table = table or _scan_parts(files, parts)
        with faults_explained(files.plain(parts[0]), table):
            yield table, partial(read_titles, files, name or _WHOLE)


def _parts(files: Files) -> list[str]:
    """The files part-*.parquet of a folder, such as Spark writes: together they are a table."""
    names = files.names() if files.place.is_dir() else []
    return [name for name in names if fnmatch(name, "part-*.parquet")]


def _scan_parts(files: Files, parts: list[str]) -> RawTable:
    for part in parts:
        # Each by itself, for a message that names the one that is something else.
        scan(files.plain(part), part, where=files.said(part))
    return scan_parquet([files.plain(part) for part in parts], str(files.place))


def read_file(files: Files, file: str, *, format: str | None = None, name: str = "") -> Ratings:
    """Read one of several files, with the titles beside it."""
    plain = files.plain(file)
    original = str(PurePosixPath(file).with_suffix("")) if file.endswith(PACKED) else file
    where = files.said(file)
    table = scan(plain, original, where=where, format=format)
    with faults_explained(plain, table):
        frame, dropped = clean(table)
    titles = read_titles(files, file, frame.schema[ITEM])
    return Ratings(frame, titles=titles, duplicates=dropped, name=name or where)


def choose(files: Files) -> str:
    """The one file with ratings in a folder or archive."""
    names = [PurePosixPath(name) for name in files.names()]
    bare = {path: path.with_suffix("") if path.suffix in PACKED else path for path in names}
    for known in _KNOWN:
        same = [path for path, plain in bare.items() if plain.name == known]
        if same:
            return str(_only(same, files))
    for suffixes in (_SUFFIXES[:1], _SUFFIXES):
        same = [path for path, plain in bare.items() if plain.suffix.lower() in suffixes]
        if same:
            return str(_only(same, files))
    raise DataError(
        "no ratings in it",
        where=str(files.place),
        right=f"It should hold one of {', '.join(_KNOWN)}, a .inter file or one ratings file.",
    )


def _only(paths: list[PurePosixPath], files: Files) -> PurePosixPath:
    if len(paths) > 1:
        listed = ", ".join(map(str, paths[:5])) + (" …" if len(paths) > 5 else "")
        raise DataError(
            f"several files could hold the ratings: {listed}",
            where=str(files.place),
            right="Give the path of one file, or name the right one ratings.csv.",
        )
    return paths[0]
