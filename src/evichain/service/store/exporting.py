"""All ratings of a snapshot in one file, in bounded memory."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from evichain.errors import DataError
from evichain.progress import progress as shown_progress
from evichain.service.store.rows import Exported

if TYPE_CHECKING:
    from evichain.service.store.snapshot import Snapshot

FORMATS = (".csv", ".tsv", ".parquet", ".ndjson", ".jsonl")
"""The suffixes of files that can be written."""

Frames = Callable[[], Iterator[pl.DataFrame]]


def export(
    snapshot: "Snapshot", path: Path, titles: Path | None, *, timestamps: bool, progress: bool
) -> Exported:
    """Write ratings in the order in which they were put, and titles if there is a file for them."""
    for file in (path, titles):
        if file is not None:
            check_format(file)
    columns = {n: t for n, t in snapshot.schema.items() if timestamps or n != "timestamp"}
    ratings = untimed = 0

    def frames() -> Iterator[pl.DataFrame]:
        nonlocal ratings, untimed
        for frame in snapshot.frames(in_order=True):
            ratings += len(frame)
            untimed += frame["timestamp"].null_count()
            yield frame.select(*columns)
            advance(len(frame))

    shown = shown_progress("Exporting", len(snapshot), enabled=progress, unit="ratings")
    with shown as advance, _beside(path) as made:
        _write(frames, columns, made)
    if titles is not None:
        table = snapshot.title_table()
        with _beside(titles) as made:
            _write(lambda: iter([table]), table.schema, made)
    return Exported(ratings, untimed)


def check_format(path: Path) -> None:
    """Refuse a name that tells no format."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        what = f"no format is called {suffix!r}" if suffix else "has no suffix to tell its format"
        raise DataError(what, where=str(path), right=f"Name it {', '.join(FORMATS)}.")


def _write(frames: Frames, schema: Mapping[str, Any], path: Path) -> None:
    """Write frames one after the other in the format that the name's suffix tells."""
    raised: list[BaseException] = []

    def batches(*_: object) -> Iterator[pl.DataFrame]:
        # What happens in here reaches the caller as an error of polars' own.
        try:
            yield from frames()
        except BaseException as error:
            raised.append(error)
            raise

    table = register_io_source(batches, schema=dict(schema))
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            table.sink_parquet(path)
        elif suffix in (".ndjson", ".jsonl"):
            table.sink_ndjson(path)
        else:
            table.sink_csv(path, separator="\t" if suffix == ".tsv" else ",")
    except Exception:
        if raised:
            raise raised[0] from None
        raise


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name to write to, beside the final one; renamed to it at the end, removed on an error."""
    final = path.absolute()
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{final.name}-", dir=final.parent) as folder:
            made = Path(folder) / final.name
            yield made
            with made.open("rb") as file:
                os.fsync(file.fileno())
            made.replace(final)
    except (OSError, pl.exceptions.PolarsError) as error:
        said = getattr(error, "strerror", None) or (str(error).splitlines() or ["no reason"])[0]
        right = "Choose a place that can be written to and has room."
        raise DataError(f"cannot be written ({said})", where=str(path), right=right) from error
