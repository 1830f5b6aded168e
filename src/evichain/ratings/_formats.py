"""File formats and encodings: which one a plain file has, and how its rows are read."""

import codecs
import csv
import glob
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import polars as pl

from evichain.errors import DataError
from evichain.ratings._raw_table import ROW, SURPLUS, RawTable
from evichain.ratings.columns import COLUMNS, ITEM, PAIR, REQUIRED, USER, candidates, match

FORMATS = ("csv", "tsv", "dat", "inter", "parquet", "ndjson")
"""The names `format=` takes. dat is MovieLens' `::`, inter is RecBole's, tsv reads u.data."""

OFFER = "Ratings are read from CSV, TSV, Parquet, NDJSON, u.data, ratings.dat and .inter files."
SAVE = "Save it as UTF-8."
CR_ALONE = "ends in CR alone", "Save it with lines that end in LF or in CR LF."
COLON = "has a colon that is not part of `::`", "Write it as CSV, or choose ids without colons."
"""What may be wrong with a row, and what to do about it."""

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
_PIECE = 1 << 20


@dataclass(frozen=True)
class Wanted:
    """What to read from a table.

    Attributes:
        named: columns named by the user.
        required: the columns it must have.
        skip_bad_rows: drop and count bad rows instead of raising an error.
        format: one of `FORMATS`, instead of what name and content suggest.
        events: the weights of event types, if the user gives them.
    """

    named: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = REQUIRED
    skip_bad_rows: bool = False
    format: str | None = None
    events: Mapping[str, float] | None = None

    def of(self, table: RawTable) -> RawTable:
        """The table, with what is wanted of it."""
        return replace(
            table,
            named=self.named,
            required=self.required,
            skip_bad_rows=self.skip_bad_rows,
            events=self.events,
        )


def scan(
    path: Path, name: str, wanted: Wanted, *, where: str, scratch: Callable[[], Path]
) -> tuple[Path, RawTable]:
    """The rows of a plain file, read when they are needed; and the file they are read from.

    Args:
        path: the file.
        name: its name before it was unpacked: the suffix says the format.
        where: the file, for messages.
        scratch: makes the path of a temporary file, for text that must be converted first.
    """
    format = wanted.format
    if format is not None and format not in FORMATS:
        raise DataError(
            f"no format {format!r}", where=where, right=f"Formats are {', '.join(FORMATS)}."
        )
    with path.open("rb") as file:
        start = file.read(_START)
    format = format or _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())
    if format == "parquet" or (format is None and start.startswith(b"PAR1")):
        if not start.startswith(b"PAR1"):
            raise DataError("is not a Parquet file", where=where, right=OFFER)
        return path, scan_parquet([path], where, wanted)
    path, notes = _as_utf8(path, start, where, scratch)
    with path.open("rb") as file:
        # The end of what is read may cut a character in two.
        text = file.read(_START).decode("utf-8-sig", errors="ignore")
    if not text.strip():
        raise DataError("is empty", where=where, right="A ratings file has one rating a line.")
    if format == "ndjson" or (format is None and text.lstrip().startswith(("{", "["))):
        if wanted.skip_bad_rows:
            path = _without_bad_lines(path, scratch())
        table = _scan_ndjson(path, text, where)
    else:
        table = _scan_text(path, text, where, format, wanted)
    return path, wanted.of(replace(table, notes=notes))


def _as_utf8(
    path: Path, start: bytes, where: str, scratch: Callable[[], Path]
) -> tuple[Path, tuple[str, ...]]:
    """The text file in UTF-8, converted if it is in UTF-16 or Latin-1, with a note if it was."""
    if start.startswith(_UTF_16):
        return _converted(path, "utf-16", where, scratch()), ()
    kind = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    if kind is None and b"\0" in start:
        kind = "binary data"
    if kind is not None:
        raise DataError(f"is {kind}, not text", where=where, right=OFFER)
    if _is_utf8(path):
        return path, ()
    note = f"{where}: not in UTF-8, so it was read as Latin-1"
    return _converted(path, "latin-1", where, scratch()), (note,)


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    ascii = True
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                # Most ratings are ASCII, which is far cheaper to check.
                ascii = ascii and piece.isascii()
                if not ascii:
                    decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _converted(path: Path, encoding: str, where: str, target: Path) -> Path:
    """A copy of a text file in UTF-8."""
    try:
        with (
            path.open(encoding=encoding, newline="") as source,
            target.open("w", encoding="utf-8", newline="") as sink,
        ):
            while piece := source.read(_PIECE):
                sink.write(piece)
    except UnicodeError as error:
        raise DataError(f"is damaged {encoding} text", where=where, right=SAVE) from error
    return target


def _without_bad_lines(path: Path, target: Path) -> Path:
    """A copy of an NDJSON file in which lines that are not objects are empty objects."""
    with path.open("rb") as source, target.open("wb") as sink:
        for line in source:
            try:
                good = isinstance(json.loads(line), dict)
            except ValueError:
                good = False
            sink.write(line if good else b"{}\n")
    return target


def scan_parquet(parts: list[Path], where: str, wanted: Wanted) -> RawTable:
    """The rows of Parquet files, one after the other."""
    rows = pl.scan_parquet(parts, glob=False).with_row_index(ROW, 1)
    return wanted.of(RawTable(rows, where))


def _scan_ndjson(path: Path, text: str, where: str) -> RawTable:
    if not text.lstrip().startswith("{"):
        raise DataError(
            "is not NDJSON",
            where=where,
            right='Each line is one object, such as {"user_id": 1, "item_id": 2, "rating": 3}.',
        )
    # scan_ndjson has no `glob=False`: without escaping, brackets and stars would be a pattern.
    rows = pl.scan_ndjson(glob.escape(str(path)), infer_schema_length=None)
    return RawTable(rows.with_row_index(ROW, 1), where)


def _scan_text(path: Path, text: str, where: str, format: str | None, wanted: Wanted) -> RawTable:
    lines = [line.rstrip("\r") for line in text.split("\n")]
    above = next(number for number, line in enumerate(lines) if line.strip())
    separator = _separator(lines[above], format, where)
    # polars takes one character: `::` is read as `:` twice, with an empty column between.
    step = len(separator)
    quoted = format != "inter" and separator != "::"
    fields = _fields(lines[above], separator, quoted, f"{where}, row {above + 1}")
    header = _is_header(fields, wanted)
    if header:
        # Before repeated names are made different: a repeated one may be ambiguous.
        match(fields, where=where, named=wanted.named)
    names = _unique(fields) if header else list(COLUMNS[: len(fields)])
    columns = [f"{number}" for number in range((len(names) - 1) * step + 1)]
    surplus = [SURPLUS] * wanted.skip_bad_rows
    rows = pl.scan_csv(
        path,
        has_header=False,
        skip_lines=above + header,
        separator=separator[0],
        quote_char='"' if quoted else None,
        schema=dict.fromkeys((*columns, *surplus), pl.String),
        glob=False,
        missing_columns="insert",
        truncate_ragged_lines=wanted.skip_bad_rows,
        raise_if_empty=False,
    )
    # A blank line is not a rating, but it counts as a row. Selecting every column also makes
    # polars notice lines that have too many.
    rows = rows.with_row_index(ROW, 1 + above + header).filter(
        ~pl.all_horizontal(pl.col(columns).is_null())
    )
    named = (pl.col(column).alias(n) for column, n in zip(columns[::step], names, strict=True))
    return RawTable(rows.select(ROW, *surplus, *named), where, separator, quoted)


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
        mark = "`::`" if format == "dat" else "a tab" if format != "csv" else "a comma"
        raise DataError(
            f"is not in {format.upper()} format: {mark} is missing in {first[:40]!r}",
            where=where,
            right=OFFER,
        )
    if "::" in first:
        return "::"
    best = max(("\t", ",", ";", "|", " "), key=first.count)
    if best not in first:
        raise DataError(f"no columns in {first[:40]!r}", where=where, right=OFFER)
    return best


def _is_header(fields: list[str], wanted: Wanted) -> bool:
    """Whether the first line names columns.

    It does not if it has three or four fields and the third is a number. A line of two fields, or
    of a table of pairs, does not if no field names a column and one of the first two has a digit.
    """
    known = candidates(fields)
    if set(wanted.named.values()) & set(fields):
        return True
    most = 4 if wanted.required == PAIR else 2
    if 2 <= len(fields) <= most:
        digits = any(letter.isdigit() for field in fields[:2] for letter in field)
        return USER in known or ITEM in known or not digits
    if len(known) >= 3 or len(fields) not in (3, 4):
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
