"""Finds the row that polars cannot read, and says what is wrong with it."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from evichain.errors import DataError, cause_of
from evichain.ratings._archives import AGAIN, first_bytes
from evichain.ratings._formats import COLON, CR_ALONE, OFFER
from evichain.ratings._raw_table import RawTable

_QUOTES = 'A column with a quote in it is quoted, and that quote is doubled: "7"" single".'

Fault = tuple[int, str, str]
"""The row, what is wrong with it, and what would be right."""


@contextmanager
def faults_explained(path: Path, table: RawTable) -> Iterator[None]:
    """Turn an error of polars about a broken file into one that names the row."""
    try:
        yield
    # Damaged Parquet can make polars panic, which is no PolarsError.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        row, what, right = 0, "", OFFER
        if first_bytes(path) != b"PAR1":
            row, what, right = _first_fault(path, table) or (0, "", OFFER)
        elif not isinstance(error, pl.exceptions.SchemaError):  # parts with different columns
            right = AGAIN
        raise DataError(
            what or f"cannot be read ({cause_of(error)})",
            where=f"{table.where}, row {row}" if row else table.where,
            right=right,
        ) from error


def _first_fault(path: Path, table: RawTable) -> Fault | None:
    """The first broken row; slow, so only after an error."""
    looks = (_line_fault, _column_fault) if table.separator else (_json_fault,)
    found = []
    for look in looks:
        with path.open("rb") as file:
            text = io.TextIOWrapper(file, "utf-8-sig", newline="")
            found.append(look(text, table))
    return min(filter(None, found), key=lambda fault: fault[0], default=None)


def _line_fault(lines: Iterable[str], table: RawTable) -> Fault | None:
    """The first row with a wrong line end or a misplaced quote."""
    row, opened = 0, False
    for line in lines:
        row += not opened
        if line.endswith("\r"):
            return row, *CR_ALONE
        if not table.quoted or '"' not in line:
            continue
        after = _opened(line.rstrip("\r\n"), table.separator, opened)
        if after is None:
            return row, "has a misplaced quote", _QUOTES
        opened = after
    return (row, "has a quote that is not closed", _QUOTES) if opened else None


def _opened(line: str, separator: str, opened: bool) -> bool | None:
    """Whether a quoted column is open at the end of a line; None if a quote is misplaced.

    Args:
        opened: whether one is open at the beginning of the line.
    """
    mark = re.escape(separator)
    bare = rf'[^"{mark}]+(?:"[^"{mark}]*"[^"{mark}]*)*'
    begun = r'"(?:[^"]|"")*'
    rest = rf'(?:{mark}(?:{bare}|{begun}"|))*'
    text = f'"{line}' if opened else line
    if re.fullmatch(rf'(?:{bare}|{begun}"|){rest}', text):
        return False
    # An open column is the last of its line.
    last = rf"(?:(?:{bare}|{begun}\"|){rest}{mark})?{begun}"
    return True if re.fullmatch(last, text) else None


def _column_fault(text: Iterable[str], table: RawTable) -> Fault | None:
    """The first row that has more columns than the first, or a stray colon."""
    width = 0
    try:
        for row, fields in enumerate(_fields(text, table), start=1):
            if table.separator == "::" and ":" in "".join(fields):
                return row, *COLON
            width = width or len(fields)
            if len(fields) > width:
                what = f"has {len(fields)} columns where the first row has {width}"
                return row, what, OFFER
    except csv.Error:  # a column too long for csv, after a quote that is not closed
        return None
    return None


def _fields(text: Iterable[str], table: RawTable) -> Iterable[list[str]]:
    if table.quoted:
        return csv.reader(text, delimiter=table.separator)
    stripped = (line.rstrip("\r\n") for line in text)
    return (line.split(table.separator) if line else [] for line in stripped)


def _json_fault(lines: Iterable[str], table: RawTable) -> Fault | None:
    for row, line in enumerate(lines, start=1):
        try:
            if line.strip() and not isinstance(json.loads(line), dict):
                return row, "is not a JSON object", OFFER
        except ValueError as error:
            return row, f"is not JSON ({error})", OFFER
    return None
