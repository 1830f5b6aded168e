"""The file formats of ratings: which one a plain file is in, and how its rows are read."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import polars as pl

from evichain.errors import DataError
from evichain.ratings._cleaning import RawTable
from evichain.ratings._columns import COLUMNS, match

FORMATS = ("csv", "tsv", "dat", "inter", "parquet", "ndjson")
"""The names `format=` takes. dat is MovieLens' `::`, inter is RecBole's, tsv reads u.data."""

_BY_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".inter": "inter",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
}
_SEPARATORS = {"tsv": ("\t",), "inter": ("\t",), "csv": (",", ";", "\t", "|"), "dat": ("::",)}
_MAGIC = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "gzip data",
    b"\x28\xb5\x2f\xfd": "Zstandard data",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
_START = 1 << 16


def scan(path: Path, name: str, *, where: str, format: str | None = None) -> RawTable:
    """The rows of a plain file, read as they are needed.

    Args:
        path: the file.
        name: what it was called before it was unpacked: its suffix tells the format.
        where: what messages call it.
        format: one of `FORMATS`, to overrule name and content.
    """
    if format is not None and format not in FORMATS:
        raise DataError(
            f"no format {format!r}", where=where, right=f"Formats are {', '.join(FORMATS)}."
        )
    with path.open("rb") as file:
        start = file.read(_START)
    if not start.strip():
        raise DataError("is empty", where=where, right="A ratings file has one rating a line.")
    format = format or _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())
    if format == "parquet" or (format is None and start.startswith(b"PAR1")):
        return _scan_parquet(path, start, where)
    text = _text(start, where)
    if format == "ndjson" or (format is None and text.lstrip().startswith(("{", "["))):
        return _scan_ndjson(path, text, where)
    return _scan_text(path, text, where, format)


def _text(start: bytes, where: str) -> str:
    kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    if kind is None and b"\0" in start:
        kind = "binary data"
    if kind is not None:
        raise DataError(f"is {kind}, not text", where=where, right=_offer())
    # A character may be cut in two at the end of what was read.
    text = start.decode("utf-8-sig", errors="ignore" if len(start) == _START else "replace")
    return text


def _offer() -> str:
    return "Ratings are read from CSV, TSV, Parquet, NDJSON, u.data, ratings.dat and .inter files."


def _scan_parquet(path: Path, start: bytes, where: str) -> RawTable:
    if not start.startswith(b"PAR1"):
        raise DataError("is no Parquet file", where=where, right=_offer())
    return RawTable(pl.scan_parquet(path, glob=False), where)


def _scan_ndjson(path: Path, text: str, where: str) -> RawTable:
    if not text.lstrip().startswith("{"):
        raise DataError(
            "is no NDJSON",
            where=where,
            right='Each line is one object, such as {"user_id": 1, "item_id": 2, "rating": 3}.',
        )
    return RawTable(pl.scan_ndjson(path, infer_schema_length=None), where)


def _scan_text(path: Path, text: str, where: str, format: str | None) -> RawTable:
    lines = text.splitlines()
    above = next(i for i, line in enumerate(lines) if line.strip())
    first = lines[above]
    separator = _separator(first, format, where)
    fields = next(csv.reader([first], delimiter=separator[0]))
    fields = fields[:: len(separator)]
    header = _is_header(fields)
    names = _unique(fields) if header else list(COLUMNS[: len(fields)])
    # `::` is read as two separators with nothing between them.
    gaps = [f"{name} {i}" for name in names for i in range(len(separator))]
    kept = gaps[:: len(separator)]
    columns = gaps[: len(gaps) - len(separator) + 1]
    rows = pl.scan_csv(
        path,
        has_header=False,
        skip_lines=above + header,
        separator=separator[0],
        schema=dict.fromkeys(columns, pl.String),
        glob=False,
        missing_columns="insert",
        raise_if_empty=False,
    )
    return RawTable(
        rows.select(pl.col(old).alias(new) for old, new in zip(kept, names, strict=True)),
        where,
        first_row=1 + above + header,
        untyped=True,
    )


def _separator(first: str, format: str | None, where: str) -> str:
    if format is not None:
        for separator in _SEPARATORS[format]:
            if separator in first:
                return separator
        wanted = "`::`" if format == "dat" else "a tab" if format != "csv" else "a comma"
        raise DataError(
            f"is no {format.upper()} file: {wanted} is missing in {first[:40]!r}",
            where=where,
            right=_offer(),
        )
    if "::" in first:
        return "::"
    best = max(("\t", ",", ";", "|", " "), key=first.count)
    if best not in first:
        raise DataError(f"no columns in {first[:40]!r}", where=where, right=_offer())
    return best


def _is_header(fields: list[str]) -> bool:
    """Whether a first line names columns; three or four fields with a number third do not."""
    if len(match(fields)) >= 3 or len(fields) not in (3, 4):
        return True
    try:
        float(fields[2])
    except ValueError:
        return True
    return False


def _unique(names: list[str]) -> list[str]:
    """Column names with repeated ones made different, since a table cannot have them twice."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique


@contextmanager
def faults_explained(path: Path, table_where: str) -> Iterator[None]:
    """Turn what polars says of a broken file into an error that names the row."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        row, what = _first_fault(path)
        where = f"{table_where}, row {row}" if row else table_where
        what = what or f"cannot be read ({str(error).splitlines()[0]})"
        raise DataError(what, where=where, right=_offer()) from error


def _first_fault(path: Path) -> tuple[int, str]:
    """The first line that cannot be part of the file: slow, and only gone through on errors."""
    with path.open("rb") as file:
        start = file.read(_START)
        if start.startswith(b"PAR1"):
            return 0, ""
        file.seek(0)
        text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
        if start.lstrip().startswith(b"{"):
            return _first_json_fault(text)
        separator = _separator(text.readline(), None, "")
        text.seek(0)
        width = 0
        for row, fields in enumerate(csv.reader(text, delimiter=separator[0]), start=1):
            if any("\udc80" <= letter <= "\udcff" for field in fields for letter in field):
                return row, "is not UTF-8 text"
            width = width or len(fields)
            if len(fields) > width:
                return row, f"has {len(fields)} columns where the first row has {width}"
    return 0, ""


def _first_json_fault(lines: io.TextIOWrapper) -> tuple[int, str]:
    for row, line in enumerate(lines, start=1):
        try:
            if line.strip() and not isinstance(json.loads(line), dict):
                return row, "is no JSON object"
        except ValueError as error:
            return row, f"is no JSON ({error})"
    return 0, ""
