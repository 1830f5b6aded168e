"""From a table of any size to the files of a graph, in memory that does not grow with it.

1. Count the ratings of each id, piece by piece: ids are all that memory must hold.
2. Put the ratings, by index, into buckets on disk: each has a range of users.
3. Sort each bucket into rows, drop what was rated again (interactions are added up), and put
   what is kept into buckets of items.
4. Sort those into rows.

What comes out is, byte for byte, what building the graph in memory and saving it gives.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.errors import DataError, reported_as
from evichain.kernels import Floats, Ints, Longs, kernel
from evichain.progress import progress as progress_bar
from evichain.ratings._buckets import ArrayFile, Buckets
from evichain.ratings._column_types import as_text, expressions
from evichain.ratings._raw_table import RawTable
from evichain.ratings._validation import (
    check_rows,
    events_note,
    first_fault,
    found_events,
    no_ratings,
    skipped_note,
    weighed,
)
from evichain.ratings.columns import RATING, TIMESTAMP, TITLE
from evichain.ratings.graph import array_path, save_card, save_ids
from evichain.ratings.ids import Ids
from evichain.ratings.interactions import added_up, repeats_note, zeros_note
from evichain.ratings.reading import ReadOptions, open_parquet
from evichain.ratings.rows import Rows, build_rows
from evichain.ratings.scale import MAX_LEVELS, Scale
from evichain.ratings.side import Side

PIECE = 1 << 20
"""How many rows are read at once."""
BUCKET = 1 << 22
"""How many ratings are sorted at once, at about 50 bytes of memory each."""

Records = npt.NDArray[Any]
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Converted:
    """What a conversion wrote, how many earlier ratings of a pair it dropped, and notes.

    Of interactions, `duplicates` are the repeated ones that it added up.
    """

    ratings: int
    users: int
    items: int
    duplicates: int
    notes: tuple[str, ...] = ()
    interactions: bool = False


def convert_parquet(
    path: Path,
    folder: Path,
    *,
    piece: int = PIECE,
    bucket: int = BUCKET,
    progress: bool = False,
    **options: Unpack[ReadOptions],
) -> Converted | None:
    """Write the graph of a Parquet file, or of a folder of parts, into a folder to be made.

    Args:
        piece: how many rows to read at once.
        bucket: how many ratings to sort at once.
        progress: show a progress bar.
        options: as for `read_ratings`.

    Returns:
        What was written; None if the path is not Parquet, and then nothing is written.
    """
    with open_parquet(path, **options) as source, ExitStack() as stack:
        if source is None:
            return None
        table, titles = source
        stream = Stream(table, piece)
        advance = stack.enter_context(
            progress_bar("Converting", 4 * stream.rows, enabled=progress, unit="rows")
        )
        with _writing(folder):
            folder.mkdir(parents=True)
        counted = [_Count(side) for side in Side]
        for rows in stream:
            for count in counted:
                count.add(rows)
            advance(len(rows))
        ids = [count.ids() for count in counted]
        conversion = _Conversion(folder, stream, ids, [c.degrees() for c in counted], bucket)
        conversion.spill(advance)
        named = titles(ids[Side.ITEM].values)
        with _writing(folder):
            conversion.write_users(advance)
            conversion.write_items(advance)
            save_card(folder, conversion.scale, conversion.mean, named.frame)
            for side in Side:
                save_ids(folder, side, ids[side])
    kept = conversion.kept
    duplicates = stream.rows - stream.skipped - stream.zeros - kept
    notes = stream.notes
    if stream.interactions and duplicates:
        notes += (repeats_note(duplicates, table.where),)
    notes += named.notes
    return Converted(kept, len(ids[0]), len(ids[1]), duplicates, notes, stream.interactions)


class Stream:
    """The validated ratings of a table that may not fit in memory, in pieces.

    It can be iterated more than once, always in the order of the rows. Pieces have the columns
    and types of `validate`. Timestamps are as in the source, which is enough to find the later
    of two, and pairs may be repeated.

    Attributes:
        rows: how many rows the source has.
        skipped: how many of them were bad and skipped; known after the first iteration.
        zeros: how many interactions of weight 0 were left out; known after the first iteration.
        timed: whether they have timestamps.
        interactions: whether they are interactions, with weights instead of ratings.
    """

    def __init__(self, table: RawTable, piece: int = PIECE) -> None:
        schema = table.rows.collect_schema()
        names = table.columns()
        self._notes = table.notes + table.unused(names)
        names.pop(TITLE, None)
        self.interactions = RATING not in names
        self._notes += events_note(table, found_events(table, names))
        rows = table.select(names)
        self.rows: int = _only(rows, pl.len())
        if not self.rows:
            raise no_ratings(table)
        if TIMESTAMP in names and _only(rows, pl.col(TIMESTAMP).is_null().all()):
            del names[TIMESTAMP]
        types = {column: schema[name] for column, name in names.items()}
        exact, whole = expressions(rows, types, table)
        for column, holds in whole.items():
            if not _only(rows, holds.all()):
                exact[column] = as_text(column, table)
        self.timed = TIMESTAMP in names
        self.skipped = self.zeros = 0
        self._first: tuple[int, str] | None = None
        self._typed = rows.select(kept.alias(column) for column, kept in exact.items())
        self._table, self._names, self._piece = table, names, piece

    def __iter__(self) -> Iterator[pl.DataFrame]:
        start = skipped = zeros = 0
        for piece in self._typed.collect_batches(chunk_size=self._piece, engine="streaming"):
            good, bad = check_rows(piece, self._table, self._names, start)
            start += len(piece)
            skipped += len(bad)
            if bad and self._first is None:
                self._first = bad[0]
            if self.interactions:
                good, left_out = weighed(good)
                zeros += left_out
            yield good
        if skipped + zeros == start:
            raise no_ratings(self._table)
        self.skipped, self.zeros = skipped, zeros

    @property
    def notes(self) -> tuple[str, ...]:
        """What to tell the user about the source, after the first iteration."""
        notes = self._notes
        if self._first is not None:
            first = first_fault(self._first, self._table, self._names)
            notes += (skipped_note(self._table, self.skipped, first),)
        if self.zeros:
            notes += (zeros_note(self.zeros, self._table.where),)
        return notes


def _only(rows: pl.LazyFrame, question: pl.Expr) -> Any:
    """The one value of an expression over all rows."""
    return rows.select(question).collect(engine="streaming").item()


def _writing(folder: Path) -> AbstractContextManager[None]:
    """Turns errors of writing into a DataError that names the folder."""
    right = "Choose a place that can be written to and has room."
    return reported_as(DataError, "cannot be written", folder, right, pl.exceptions.PolarsError)


class _Count:
    """The distinct ids of a side and how often each comes."""

    def __init__(self, side: Side) -> None:
        self._column = side.column
        self._known: pl.DataFrame | None = None
        self._new: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> None:
        self._new.append(rows.group_by(pl.col(self._column).alias("id")).len("count"))
        known = 0 if self._known is None else len(self._known)
        if sum(map(len, self._new)) > max(known, PIECE):
            self._merge()

    def _merge(self) -> pl.DataFrame:
        parts = self._new if self._known is None else [self._known, *self._new]
        self._known = pl.concat(parts).group_by("id").agg(pl.col("count").sum()).sort("id")
        self._new = []
        return self._known

    def ids(self) -> Ids:
        return Ids(self._merge()["id"].unique().sort())

    def degrees(self) -> Longs:
        return self._merge()["count"].to_numpy().astype(np.int64)


class _Conversion:
    """The buckets of both sides, and what is found on the way from one to the other."""

    def __init__(
        self, folder: Path, stream: Stream, ids: list[Ids], degrees: list[Longs], bucket: int
    ) -> None:
        self._folder, self._stream, self._ids = folder, stream, ids
        self._scratch = folder / "buckets"
        with _writing(folder):
            self._scratch.mkdir()
        timed = (stream.timed, False)
        self._buckets = [
            Buckets(self._scratch, side, degrees[side], bucket, timed=timed[side]) for side in Side
        ]
        self.kept, self.mean = 0, 0.0
        self.scale = Scale.of(np.empty(0, np.float32))

    def spill(self, advance: Advance) -> None:
        """Put the ratings of the table into buckets of users."""
        for rows in self._stream:
            index = [self._ids[side].encode(rows[side.column]) for side in Side]
            times = rows[TIMESTAMP].to_numpy() if self._stream.timed else None
            with _writing(self._folder):
                self._buckets[Side.USER].put(index[0], index[1], rows[RATING].to_numpy(), times)
            advance(len(rows))

    def write_users(self, advance: Advance) -> None:
        """Write the rows of users, and put what they keep into buckets of items."""
        values, levels = self._scratch / "ratings.npy", _Levels()
        with _Writer(self._folder, Side.USER, values, np.float32) as out:
            for first, last, records in self._buckets[Side.USER].take():
                rows = self._sorted(Side.USER, first, last, records)
                if _repeats(rows.indptr, rows.indices):
                    once = _latest(records, add_up=self._stream.interactions)
                    rows = self._sorted(Side.USER, first, last, once)
                out.append(rows)
                ratings = rows.codes.astype(np.float32, copy=False)
                levels.add(ratings)
                users = np.repeat(np.arange(first, last, dtype=np.int32), rows.degrees)
                self._buckets[Side.ITEM].put(rows.indices, users, ratings)
                self.kept += len(users)
                advance(len(records))
        self.scale = replace(levels.scale(), interactions=self._stream.interactions)
        self._write_codes(np.load(values, mmap_mode="r"))
        values.unlink()

    def _write_codes(self, ratings: Floats) -> None:
        """The users' codes, known only after all ratings have been read."""
        kind = np.uint8 if self.scale.levelled else np.float32
        path = array_path(self._folder, Side.USER, "codes")
        stored = ratings[:0] if self.scale.uniform else ratings
        with closing(ArrayFile(path, kind)) as out:
            for start in range(0, len(stored), PIECE):
                out.append(self.scale.encode(stored[start : start + PIECE]))
        codes = np.load(path, mmap_mode="r")
        if self.scale.uniform:
            codes = np.broadcast_to(np.zeros(1, np.uint8), len(ratings))
        self.mean = self.scale.mean(codes)

    def write_items(self, advance: Advance) -> None:
        """Write the rows of items; no bucket is needed any more."""
        kind = np.uint8 if self.scale.levelled else np.float32
        codes = array_path(self._folder, Side.ITEM, "codes")
        with _Writer(self._folder, Side.ITEM, codes, kind) as out:
            for first, last, records in self._buckets[Side.ITEM].take():
                rows = self._sorted(Side.ITEM, first, last, records, self.scale)
                out.append(replace(rows, codes=rows.codes[:0]) if self.scale.uniform else rows)
                advance(len(records))
        shutil.rmtree(self._scratch)

    def _sorted(
        self, side: Side, first: int, last: int, records: Records, scale: Scale | None = None
    ) -> Rows:
        """The rows of a bucket, with ratings as they are or in codes of the scale."""
        ratings = np.ascontiguousarray(records["rating"])
        return build_rows(
            side,
            records["own"] - np.int32(first),
            np.ascontiguousarray(records["other"]),
            scale.encode(ratings) if scale else ratings,
            self._ids[side].keys[first:last],
            self._ids[side.opposite].keys,
        )


class _Writer(ExitStack):
    """Appends rows to the arrays of one side."""

    def __init__(self, folder: Path, side: Side, codes: Path, kind: npt.DTypeLike) -> None:
        super().__init__()
        self._offsets = self._growing(array_path(folder, side, "indptr"), np.int64)
        self._indices = self._growing(array_path(folder, side, "indices"), np.int32)
        self._codes = self._growing(codes, kind)
        self._offsets.append(np.zeros(1, np.int64))
        self._length = 0

    def _growing(self, path: Path, kind: npt.DTypeLike) -> ArrayFile:
        return self.enter_context(closing(ArrayFile(path, kind)))

    def append(self, rows: Rows) -> None:
        self._offsets.append(rows.indptr[1:] + self._length)
        self._indices.append(rows.indices)
        self._codes.append(rows.codes)
        self._length += len(rows.indices)


class _Levels:
    """The distinct ratings, as long as there are few enough to be levels; and their range."""

    def __init__(self) -> None:
        self._distinct = np.empty(0, np.float32)
        self._few = True

    def add(self, ratings: Floats) -> None:
        if len(self._distinct):
            near = np.searchsorted(self._distinct[:-1], ratings)
            ratings = ratings[self._distinct[near] != ratings]
        self._distinct = np.unique(np.concatenate([self._distinct, ratings]))
        self._few = self._few and len(self._distinct) <= MAX_LEVELS
        if not self._few:
            self._distinct = self._distinct[[0, -1]]

    def scale(self) -> Scale:
        if self._few:
            return Scale.of(self._distinct)
        low, high = map(float, self._distinct)
        return Scale(np.empty(0, np.float32), low, high)


def _latest(records: Records, *, add_up: bool) -> Records:
    """The latest record of each pair: by time where there is one, then by when it came.

    Args:
        add_up: whether it gets the weight of all records of its pair.
    """
    pair = (records["own"].astype(np.int64) << 32) | records["other"]
    names = records.dtype.names or ()
    order = np.lexsort((records["time"], pair) if "time" in names else (pair,))
    ordered = pair[order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    latest: Records = records[order[last]]
    if add_up:
        numbers = np.cumsum(np.append(False, last[:-1]))
        latest["rating"] = added_up(numbers, records["rating"][order])
    return latest


@kernel
def _repeats(indptr: Longs, indices: Ints) -> bool:
    """Whether a row has the same entity twice: side by side then, as their hashes are equal."""
    for row in range(len(indptr) - 1):
        for i in range(indptr[row] + 1, indptr[row + 1]):
            if indices[i] == indices[i - 1]:
                return True
    return False
