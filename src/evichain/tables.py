"""Reads and writes tables in the format of the file's suffix."""

from pathlib import Path
from typing import TYPE_CHECKING

from evichain.errors import DataError

if TYPE_CHECKING:
    import polars as pl

TABLES = (".csv", ".tsv", ".parquet", ".ndjson", ".jsonl")
"""The suffixes of tables that can be written."""


def table_suffix(path: Path, *also: str) -> str:
    """The suffix of a name, if something can be written by it."""
    suffix = path.suffix.lower()
    if suffix not in (*TABLES, *also):
        raise DataError(
            f"no format is called {suffix!r}" if suffix else "has no suffix that names its format",
            where=str(path),
            right=f"Name it {', '.join((*TABLES, *also))}.",
        )
    return suffix


def write_table(table: "pl.DataFrame | pl.LazyFrame", path: Path) -> None:
    """Write a table; one that is lazy part by part, in bounded memory."""
    suffix = table_suffix(path)
    if suffix == ".parquet":
        table.lazy().sink_parquet(path)
    elif suffix in (".ndjson", ".jsonl"):
        table.lazy().sink_ndjson(path)
    else:
        table.lazy().sink_csv(path, separator="\t" if suffix == ".tsv" else ",")
