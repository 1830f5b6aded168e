"""All ratings of a snapshot in one file, in bounded memory."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from evichain.atomic_write import write_file_atomically
from evichain.errors import DataError, reported_as
from evichain.progress import progress as shown_progress
from evichain.service.store.records import Exported
from evichain.tables import table_suffix, write_table

if TYPE_CHECKING:
    from evichain.service.store.store_snapshot import StoreSnapshot

Frames = Callable[[], Iterator[pl.DataFrame]]


def export(
    snapshot: "StoreSnapshot", path: Path, titles: Path | None, *, timestamps: bool, progress: bool
) -> Exported:
    """Write ratings in the order in which they were added, and titles if asked for."""
    for file in (path, titles):
        if file is not None:
            table_suffix(file)
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


def _write(frames: Frames, schema: Mapping[str, Any], path: Path) -> None:
    """Write frames one after the other."""
    raised: list[BaseException] = []

    def batches(*_: object) -> Iterator[pl.DataFrame]:
        # polars replaces exceptions that are raised here by its own.
        try:
            yield from frames()
        except BaseException as error:
            raised.append(error)
            raise

    table = register_io_source(batches, schema=dict(schema))
    try:
        write_table(table, path)
    except Exception:
        if raised:
            raise raised[0] from None
        raise


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A temporary name to write to; renamed to `path` at the end, removed on an error."""
    right = "Choose a folder that is writable and has space."
    failing = reported_as(DataError, "cannot be written", path, right, pl.exceptions.PolarsError)
    with failing, write_file_atomically(path) as made:
        yield made
