"""Ratings and pairs from files: any format, plain or packed, alone or in a folder."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import TypedDict, Unpack

import polars as pl

from evichain.errors import DataError
from evichain.ratings._archives import PACKED, Files, open_files
from evichain.ratings._faults import faults_explained
from evichain.ratings._formats import Wanted, scan, scan_parquet
from evichain.ratings._raw_table import RawTable
from evichain.ratings._titles import ITEM_TABLES, Titles, find_titles
from evichain.ratings._validation import ValidTable, validate
from evichain.ratings.columns import ITEM, PAIR, TITLE, named_columns
from evichain.ratings.interactions import checked_events
from evichain.ratings.table import Ratings

# The usual names of ratings files, the most specific first.
_KNOWN = (
    "u.data",
    "ratings.dat",
    "ratings.csv",
    "ratings.parquet",
    "ratings.tsv",
    "ratings.ndjson",
    "ratings.jsonl",
)
_SUFFIXES = (".inter", ".csv", ".tsv", ".parquet", ".ndjson", ".jsonl", ".dat", ".data")
# A folder of part-*.parquet has its titles in the same files as one ratings.parquet.
_WHOLE = "ratings.parquet"


class ReadOptions(TypedDict, total=False):
    """How to read a table of ratings that is not in a usual form.

    Attributes:
        columns: the names of columns, such as `{"user": "customer_no", "item": "sku"}`; for user,
            item, rating, weight, event, timestamp and title. Others are recognized by their usual
            names.
        skip_bad_rows: skip rows that are not ratings; a note says how many. By default the first
            one is an error.
        items: a table with the titles of the items; by default a file such as items.csv or
            movies.csv beside the ratings.
        events: the weight of each type of event, for tables of interactions that have a column of
            them, such as `{"view": 1, "buy": 5, "dislike": -1}`; by default each counts 1.
    """

    columns: Mapping[str, str] | None
    skip_bad_rows: bool
    items: str | Path | None
    events: Mapping[str, float] | None


def read_ratings(
    path: str | Path, *, format: str | None = None, **options: Unpack[ReadOptions]
) -> Ratings:
    """Read a ratings file, or the ratings of a folder or zip such as those of MovieLens.

    Args:
        path: CSV, TSV, Parquet, NDJSON, MovieLens `u.data`, `ratings.dat`, `ratings.csv` or
            RecBole `.inter`; plain, .gz, .zst or in a .zip; or a folder of part-*.parquet. Text
            is in UTF-8, in UTF-16 with a byte order mark, or in Latin-1.
        format: csv, tsv, dat, inter, parquet or ndjson, if name and content are misleading.
        options: see `ReadOptions`.

    Raises:
        DataError: naming the file, and the row if one row is wrong.
    """
    path = Path(path).expanduser()
    with open_files(path) as (files, name):
        parts = [] if name or format else _parts(files)
        if parts:
            plain, table = _scan_parts(files, parts, _wanted(options))
            return _ratings(files, _WHOLE, plain, table, options, str(path))
        return read_file(
            files, name or choose_file(files), format=format, name=str(path), **options
        )


def read_file(
    files: Files,
    file: str,
    *,
    format: str | None = None,
    name: str = "",
    **options: Unpack[ReadOptions],
) -> Ratings:
    """Read one of several files, with the titles beside it."""
    plain, table = _scan(files, file, _wanted(options, format))
    return _ratings(files, file, plain, table, options, name or files.label(file))


def read_pairs(
    path: str | Path,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    skip_bad_rows: bool = False,
) -> ValidTable:
    """The columns user_id and item_id of a file, in its order and with its duplicates.

    The notes say what was ignored and skipped.

    Args:
        path: a file such as `read_ratings` reads; other columns are not used.
        format: as for `read_ratings`.
        columns: the names of columns, such as `{"user": "customer_no", "item": "sku"}`.
        skip_bad_rows: skip rows without a user or an item.
    """
    path = Path(path).expanduser()
    named = named_columns(columns)
    wanted = Wanted(named, PAIR, skip_bad_rows, format)
    with open_files(path) as (files, name):
        plain, table = _scan(files, name or choose_file(files), wanted)
        with faults_explained(plain, table):
            return validate(table)


def _wanted(options: ReadOptions, format: str | None = None) -> Wanted:
    named = named_columns(options.get("columns"))
    if options.get("items") is not None:
        named.pop(TITLE, None)  # It is in the table of items.
    return Wanted(
        named,
        skip_bad_rows=options.get("skip_bad_rows", False),
        format=format,
        events=checked_events(options.get("events")),
    )


def _scan(files: Files, file: str, wanted: Wanted) -> tuple[Path, RawTable]:
    original = str(PurePosixPath(file).with_suffix("")) if file.endswith(PACKED) else file
    where = files.label(file)
    return scan(files.plain(file), original, wanted, where=where, scratch=files.scratch)


def _ratings(
    files: Files, file: str, plain: Path, table: RawTable, options: ReadOptions, name: str
) -> Ratings:
    """The ratings of a table, with titles from its own column or from a table of items."""
    with faults_explained(plain, table):
        found = validate(table)
        named = named_columns(options.get("columns"))
        titles = find_titles(files, file, table, options.get("items"), found.frame[ITEM], named)
    return Ratings(
        found.frame,
        titles=titles.frame,
        duplicates=found.duplicates,
        name=name,
        notes=found.notes + titles.notes,
        interactions=found.interactions,
        events=found.events,
    )


TitlesOf = Callable[[pl.Series], Titles]
"""Reads the titles of items, given their ids."""


@contextmanager
def open_parquet(
    path: Path, **options: Unpack[ReadOptions]
) -> Iterator[tuple[RawTable, TitlesOf] | None]:
    """The rows of a Parquet file or of a folder of parts, not read yet; None for other files.

    With them comes a function that reads the titles.
    """
    with open_files(path) as (files, name):
        parts = [name] if name else _parts(files)
        plain = [PurePosixPath(part).suffix.lower() in (".parquet", ".pq") for part in parts]
        if not parts or not all(plain):
            yield None
            return
        wanted = _wanted(options)
        first, table = _scan(files, name, wanted) if name else _scan_parts(files, parts, wanted)

        def titles(items: pl.Series) -> Titles:
            named = named_columns(options.get("columns"))
            return find_titles(files, name or _WHOLE, table, options.get("items"), items, named)

        with faults_explained(first, table):
            yield table, titles


def _parts(files: Files) -> list[str]:
    """The files part-*.parquet of a folder, such as Spark writes: together they are a table."""
    names = files.names() if files.root.is_dir() else []
    return [name for name in names if fnmatch(name, "part-*.parquet")]


def _scan_parts(files: Files, parts: list[str], wanted: Wanted) -> tuple[Path, RawTable]:
    for part in parts:
        # One by one, so that the message names the part that is not Parquet.
        _scan(files, part, wanted)
    plain = [files.plain(part) for part in parts]
    return plain[0], scan_parquet(plain, str(files.root), wanted)


def choose_file(files: Files) -> str:
    """The one file with ratings in a folder or archive."""
    names = [PurePosixPath(name) for name in files.names()]
    bare = {path: path.with_suffix("") if path.suffix in PACKED else path for path in names}
    bare = {path: plain for path, plain in bare.items() if plain.name not in ITEM_TABLES}
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
        where=str(files.root),
        right=f"It should hold one of {', '.join(_KNOWN)}, a .inter file or one ratings file.",
    )


def _only(paths: list[PurePosixPath], files: Files) -> PurePosixPath:
    if len(paths) > 1:
        listed = ", ".join(map(str, paths[:5])) + (" …" if len(paths) > 5 else "")
        raise DataError(
            f"several files could hold the ratings: {listed}",
            where=str(files.root),
            right="Give the path of one file, or name the right one ratings.csv.",
        )
    return paths[0]
