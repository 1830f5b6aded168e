"""Files of (user, item) pairs to be predicted."""

import glob
from pathlib import Path

import polars as pl

from evichain.errors import DataError
from evichain.ratings._cleaning import BLANKS, ROW
from evichain.ratings._columns import ITEM, USER, match
from evichain.ratings._containers import NO_FILE, check_name

_RIGHT = "A header names the columns user_id and item_id (or userId, movieId, …)."
_TEXT = {".csv": ",", ".tsv": "\t"}
_LINES = (".ndjson", ".jsonl")
_BLANK = "whether the row is blank"


def read_pairs(path: Path) -> pl.DataFrame:
    """The columns user_id and item_id of a CSV, TSV, Parquet or NDJSON file, in its order.

    Of text, blank lines are no pairs, and blanks beside a comma are no part of an id.
    """
    where = str(path)
    frame = _read(path, where)
    columns = match(frame.columns, where=where, wanted=(USER, ITEM))
    missing = [column for column in (USER, ITEM) if column not in columns]
    if missing:
        named = ", ".join(map(repr, frame.columns[:8]))
        raise DataError(
            f"no column for {' or '.join(missing)} among {named}", where=where, right=_RIGHT
        )
    text = path.suffix.lower() in _TEXT
    blank = pl.all_horizontal(pl.all().is_null()) if text else pl.lit(False)
    ids = (pl.col(columns[column]).alias(column) for column in (USER, ITEM))
    frame = frame.select(blank.alias(_BLANK), *ids).with_row_index(ROW, 2 if text else 1)
    frame = frame.filter(~pl.col(_BLANK)).drop(_BLANK)
    if frame.is_empty():
        raise DataError("no pairs in it", where=where, right="Each row is a user and an item.")
    if text:
        frame = frame.with_columns(pl.col(USER, ITEM).str.strip_chars(BLANKS).replace("", None))
    lacking = frame.filter(pl.any_horizontal(pl.col(USER, ITEM).is_null()))
    if not lacking.is_empty():
        raise DataError("an id is missing", where=f"{where}, row {lacking[ROW][0]}", right=_RIGHT)
    return frame.drop(ROW)


def _read(path: Path, where: str) -> pl.DataFrame:
    suffix = path.suffix.lower()
    check_name(path)
    if not path.is_file():
        missing = "no such file", "Check the path."
        what, right = NO_FILE if path.exists() and not path.is_dir() else missing
        raise DataError(what, where=where, right=right)
    try:
        if suffix in _TEXT:
            # All as text, so that ids come back as they went in.
            return pl.read_csv(path, separator=_TEXT[suffix], infer_schema=False, glob=False)
        if suffix == ".parquet":
            return pl.read_parquet(path, glob=False)
        if suffix in _LINES:
            return pl.read_ndjson(glob.escape(str(path)), infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        what = f"cannot be read ({str(error).splitlines()[0]})"
        raise DataError(what, where=where, right=_RIGHT) from error
    known = ", ".join((*_TEXT, ".parquet", *_LINES))
    raise DataError(f"no format is called {suffix!r}", where=where, right=f"Formats are {known}.")
