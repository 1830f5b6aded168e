"""What is wrong with a file that polars cannot read, in words and with the row."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from evichain.errors import DataError
from evichain.ratings._cleaning import RawTable
from evichain.ratings._containers import AGAIN
from evichain.ratings._formats import OFFER, SAVE

_NOT_UTF_8 = "is not UTF-8 text"


@contextmanager
def faults_explained(path: Path, table: RawTable) -> Iterator[None]:
    """Turn what polars says of a broken file into an error that names the row."""
    try:
        yield
    # Damaged Parquet can make polars panic, which is no PolarsError.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        row, what, right = 0, "", OFFER
        if not _is_parquet(path):
            row, what = _first_fault(path, table.separator)
            right = SAVE if what == _NOT_UTF_8 else OFFER
        elif not isinstance(error, pl.exceptions.SchemaError):  # which parts have that differ
            right = AGAIN
        raise DataError(
            what or f"cannot be read ({said})",
            where=f"{table.where}, row {row}" if row else table.where,
            right=right,
        ) from error


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _first_fault(path: Path, separator: str) -> tuple[int, str]:
    """The first row that cannot be part of the file: slow, and only gone through on errors."""
    with path.open("rb") as file:
        text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
        return _text_fault(text, separator) if separator else _json_fault(text)


def _text_fault(text: io.TextIOWrapper, separator: str) -> tuple[int, str]:
    width = 0
    try:
        for row, fields in enumerate(csv.reader(text, delimiter=separator[0]), start=1):
            if _undecoded("".join(fields)):
                return row, _NOT_UTF_8
            width = width or len(fields)
            if len(fields) > width:
                count = len(fields[:: len(separator)])
                right = len(range(0, width, len(separator)))
                return row, f"has {count} columns where the first row has {right}"
    except csv.Error as error:
        return 0, f"is no table of text ({error})"
    return 0, ""


def _json_fault(lines: io.TextIOWrapper) -> tuple[int, str]:
    for row, line in enumerate(lines, start=1):
        if _undecoded(line):
            return row, _NOT_UTF_8
        try:
            if line.strip() and not isinstance(json.loads(line), dict):
                return row, "is no JSON object"
        except ValueError as error:
            return row, f"is no JSON ({error})"
    return 0, ""


def _undecoded(text: str) -> bool:
    return any("\udc80" <= letter <= "\udcff" for letter in text)
