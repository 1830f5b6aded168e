"""Files for data larger than memory: records in buckets, and arrays that are appended to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evichain.kernels import Floats, Ints, Longs
from evichain.ratings.side import Side

_MOST_BUCKETS = 1024


class Buckets:
    """Ratings on disk, put into buckets by ranges of one side's rows, in the order they came.

    Args:
        degrees: how many ratings each row gets at most.
        size: how many ratings a bucket should have; one with a longer row has that row alone.
        timed: whether a rating has a timestamp.
    """

    def __init__(
        self, folder: Path, side: Side, degrees: Longs, size: int, *, timed: bool = False
    ) -> None:
        ends = np.cumsum(degrees)
        size = max(size, int(ends[-1]) // _MOST_BUCKETS + 1)
        # By where a row begins: so the rows of a bucket hold `size`, and the rest of its last.
        bucket = (ends - degrees) // size
        _, numbers = np.unique(bucket, return_inverse=True)
        self._bucket = numbers.astype(np.uint16)
        self._bounds = np.searchsorted(numbers, np.arange(numbers[-1] + 2))
        self._folder, self._side = folder, side
        kinds: list[tuple[str, Any]] = [("own", "<i4"), ("other", "<i4"), ("rating", "<f4")]
        self._record = np.dtype(kinds + [("time", "<i8")] * timed)

    def put(self, own: Ints, other: Ints, ratings: Floats, times: Longs | None = None) -> None:
        """Append ratings."""
        records = np.empty(len(own), self._record)
        records["own"], records["other"], records["rating"] = own, other, ratings
        if times is not None:
            records["time"] = times
        bucket = self._bucket[own]
        records = records[np.argsort(bucket, kind="stable")]
        counts = np.bincount(bucket)
        ends = np.cumsum(counts)
        for number in np.flatnonzero(counts).tolist():
            with self._path(number).open("ab") as file:
                records[ends[number] - counts[number] : ends[number]].tofile(file)

    def take(self) -> Iterator[tuple[int, int, npt.NDArray[Any]]]:
        """Empty the buckets: of each the records, its first row, and the first after it."""
        for number in range(len(self._bounds) - 1):
            path = self._path(number)
            records = np.fromfile(path, self._record)
            path.unlink()
            yield int(self._bounds[number]), int(self._bounds[number + 1]), records

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._side.noun}-{number}"


class ArrayFile:
    """A .npy file that is appended to; in the end it equals what `np.save` would have written."""

    def __init__(self, path: Path, kind: npt.DTypeLike) -> None:
        self._kind, self._length = np.dtype(kind), 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: npt.NDArray[Any]) -> None:
        """Add values at the end."""
        values.astype(self._kind, copy=False).tofile(self._file)
        self._length += len(values)

    def _write_header(self) -> None:
        # The format leaves room for the length to grow, so both headers are of one size.
        kind = np.lib.format.dtype_to_descr(self._kind)
        header = {"descr": kind, "fortran_order": False, "shape": (self._length,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def close(self) -> None:
        """Write down how long it has become."""
        self._file.seek(0)
        self._write_header()
        self._file.close()
