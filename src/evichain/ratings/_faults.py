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
from evichain.ratings._formats import OFFER


@contextmanager
def faults_explained(path: Path, table: RawTable) -> Iterator[None]:
    """Turn what polars says of a broken file into an error that names the row."""
    try:
        yield
    # Damaged Parquet can make polars panic, which is no PolarsError.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        row, what = _first_fault(path, table.separator)
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(
            what or f"cannot be read ({said})",
            where=f"{table.where}, row {row}" if row else table.where,
            right=OFFER,
        ) from error


def _first_fault(path: Path, separator: str) -> tuple[int, str]:
    """The first row that cannot be part of the file: slow, and only gone through on errors."""
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return 0, ""
        file.seek(0)
        text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
        return _text_fault(text, separator) if separator else _json_fault(text)


def _text_fault(text: io.TextIOWrapper, separator: str) -> tuple[int, str]:
    width = 0
    try:
        for row, fields in enumerate(csv.reader(text, delimiter=separator[0]), start=1):
            if _undecoded("".join(fields)):
                return row, "is not UTF-8 text"
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
            return row, "is not UTF-8 text"
        try:
            if line.strip() and not isinstance(json.loads(line), dict):
                return row, "is no JSON object"
        except ValueError as error:
            return row, f"is no JSON ({error})"
    return 0, ""


def _undecoded(text: str) -> bool:
    return any("\udc80" <= letter <= "\udcff" for letter in text)
