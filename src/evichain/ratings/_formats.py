"""The file formats of ratings: which one a plain file is in, and how its rows are read."""

import csv
import glob
from pathlib import Path, PurePosixPath

import polars as pl

from evichain.errors import DataError
from evichain.ratings._cleaning import ROW, RawTable
from evichain.ratings._columns import COLUMNS, candidates, match

FORMATS = ("csv", "tsv", "dat", "inter", "parquet", "ndjson")
"""The names `format=` takes. dat is MovieLens' `::`, inter is RecBole's, tsv reads u.data."""

OFFER = "Ratings are read from CSV, TSV, Parquet, NDJSON, u.data, ratings.dat and .inter files."
SAVE = "Save it as UTF-8."
CR_ALONE = "ends in CR alone", "Save it with lines that end in LF or in CR LF."
COLON = "has a colon that is none of `::`", "Write it as CSV, or choose ids without colons."
"""What may be wrong with a row, and what would be right."""

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
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
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
    format = format or _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())
    if format == "parquet" or (format is None and start.startswith(b"PAR1")):
        return _scan_parquet(path, start, where)
    text = _text(start, where)
    if not text.strip():
        raise DataError("is empty", where=where, right="A ratings file has one rating a line.")
    if format == "ndjson" or (format is None and text.lstrip().startswith(("{", "["))):
        return _scan_ndjson(path, text, where)
    return _scan_text(path, text, where, format)


def _text(start: bytes, where: str) -> str:
    if start.startswith(_UTF_16):
        raise DataError("is UTF-16 text, not UTF-8", where=where, right=SAVE)
    kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    if kind is None and b"\0" in start:
        kind = "binary data"
    if kind is not None:
        raise DataError(f"is {kind}, not text", where=where, right=OFFER)
    # A character may be cut in two at the end of what was read.
    return start.decode("utf-8-sig", errors="ignore" if len(start) == _START else "replace")


def _scan_parquet(path: Path, start: bytes, where: str) -> RawTable:
    if not start.startswith(b"PAR1"):
        raise DataError("is no Parquet file", where=where, right=OFFER)
    return scan_parquet([path], where)


def scan_parquet(parts: list[Path], where: str) -> RawTable:
    """The rows of Parquet files, one after the other."""
    return RawTable(pl.scan_parquet(parts, glob=False).with_row_index(ROW, 1), where)


def _scan_ndjson(path: Path, text: str, where: str) -> RawTable:
    if not text.lstrip().startswith("{"):
        raise DataError(
            "is no NDJSON",
            where=where,
            right='Each line is one object, such as {"user_id": 1, "item_id": 2, "rating": 3}.',
        )
    # Of all the formats, this one always takes brackets and stars in a path for a pattern.
    rows = pl.scan_ndjson(glob.escape(str(path)), infer_schema_length=None)
    return RawTable(rows.with_row_index(ROW, 1), where)


def _scan_text(path: Path, text: str, where: str, format: str | None) -> RawTable:
    lines = [line.rstrip("\r") for line in text.split("\n")]
    above = next(number for number, line in enumerate(lines) if line.strip())
    separator = _separator(lines[above], format, where)
    # polars takes one character: `::` is read as `:` twice, with an empty column between.
    step = len(separator)
    quoted = format != "inter" and separator != "::"
    fields = _fields(lines[above], separator, quoted, f"{where}, row {above + 1}")
    header = _is_header(fields)
    if header:
        # Of a name that is there twice, before the second is made another.
        match(fields, where=where)
    names = _unique(fields) if header else list(COLUMNS[: len(fields)])
    columns = [f"{number}" for number in range((len(names) - 1) * step + 1)]
    rows = pl.scan_csv(
        path,
        has_header=False,
        skip_lines=above + header,
        separator=separator[0],
        quote_char='"' if quoted else None,
        schema=dict.fromkeys(columns, pl.String),
        glob=False,
        missing_columns="insert",
        raise_if_empty=False,
    )
    # A blank line is no rating, but it counts as a row. Asking for every column also makes polars
    # notice lines that have too many.
    rows = rows.with_row_index(ROW, 1 + above + header).filter(
        ~pl.all_horizontal(pl.col(columns).is_null())
    )
    named = (pl.col(column).alias(n) for column, n in zip(columns[::step], names, strict=True))
    return RawTable(rows.select(ROW, *named), where, separator, quoted)


def _fields(line: str, separator: str, quoted: bool, where: str) -> list[str]:
    """The columns of a file's first line."""
    if "\r" in line:
        raise DataError(CR_ALONE[0], where=where, right=CR_ALONE[1])
    if quoted:
        return next(csv.reader([line], delimiter=separator))
    fields = line.split(separator)
    if separator == "::" and ":" in "".join(fields):
        raise DataError(COLON[0], where=where, right=COLON[1])
    return fields


def _separator(first: str, format: str | None, where: str) -> str:
    if format is not None:
        for separator in _SEPARATORS[format]:
            if separator in first:
                return separator
        wanted = "`::`" if format == "dat" else "a tab" if format != "csv" else "a comma"
        raise DataError(
            f"is no {format.upper()} file: {wanted} is missing in {first[:40]!r}",
            where=where,
            right=OFFER,
        )
    if "::" in first:
        return "::"
    best = max(("\t", ",", ";", "|", " "), key=first.count)
    if best not in first:
        raise DataError(f"no columns in {first[:40]!r}", where=where, right=OFFER)
    return best


def _is_header(fields: list[str]) -> bool:
    """Whether a first line names columns; three or four fields with a number third do not."""
    if len(candidates(fields)) >= 3 or len(fields) not in (3, 4):
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
