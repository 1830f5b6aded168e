"""Pairs that were rated more than once: found cheaply, decided exactly."""

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.ratings._columns import ITEM, TIMESTAMP, USER

_SLICE = 1 << 20


def drop_duplicates(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Keep the latest of each (user, item): by time where there is one, else by row.

    Most tables have none, so the common cases cost little: a sorted table is only looked
    through, any other is hashed, and only rows that share a hash are compared.
    """
    if _strictly_sorted(frame):
        return frame, 0
    keys = frame.select(USER, ITEM).hash_rows(seed=0).to_numpy()
    ordered = np.sort(keys)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    if not len(repeated):
        return frame, 0
    rows = _rows_among(keys, repeated)
    suspects = frame[rows].with_columns(pl.Series("row", rows))
    by = [TIMESTAMP, "row"] if TIMESTAMP in frame.columns else ["row"]
    latest = suspects.sort(by).unique([USER, ITEM], keep="last")["row"]
    keep = np.ones(len(frame), dtype=bool)
    keep[rows] = False
    keep[latest.to_numpy()] = True
    return frame.filter(pl.Series(keep)), int(len(keep) - keep.sum())


def _strictly_sorted(frame: pl.DataFrame) -> bool:
    """Whether integer ids rise from row to row, as in most exported tables: then none repeats."""
    if frame[USER].dtype != pl.Int64 or frame[ITEM].dtype != pl.Int64:
        return False
    users, items = frame[USER].to_numpy(), frame[ITEM].to_numpy()
    for start in range(0, len(frame) - 1, _SLICE):
        end = min(start + _SLICE, len(frame) - 1)
        before, after = slice(start, end), slice(start + 1, end + 1)
        later_item = (users[after] == users[before]) & (items[after] > items[before])
        if not np.all((users[after] > users[before]) | later_item):
            return False
    return True


def _rows_among(
    keys: npt.NDArray[np.uint64], wanted: npt.NDArray[np.uint64]
) -> npt.NDArray[np.int64]:
    """The rows whose key is one of the sorted ones wanted, slice by slice to spare memory."""
    found = []
    for start in range(0, len(keys), _SLICE):
        here = keys[start : start + _SLICE]
        places = np.minimum(np.searchsorted(wanted, here), len(wanted) - 1)
        found.append(np.flatnonzero(wanted[places] == here) + start)
    return np.concatenate(found)
