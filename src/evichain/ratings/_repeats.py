"""Each pair once: the latest rating of it, or all its interactions as one."""

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.ratings.columns import ITEM, RATING, TIMESTAMP, USER
from evichain.ratings.interactions import added_up

_SLICE = 1 << 20


def once_each(frame: pl.DataFrame, *, add_up: bool = False) -> tuple[pl.DataFrame, int]:
    """Keep the latest of each (user, item): by time where there is one, else by row.

    Most tables have no duplicates, so that case is fast: a sorted table is only scanned, any
    other is hashed, and only rows that share a hash are compared.

    Args:
        add_up: whether the latest gets the weight of all together (see `added_up`).

    Returns:
        The table, and how many rows are not in it.
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
    suspects = suspects.sort(USER, ITEM, *by)
    pairs = suspects.select(pl.struct(USER, ITEM).rle_id()).to_series().to_numpy().astype(np.int64)
    latest = suspects["row"].to_numpy()[np.append(pairs[1:] != pairs[:-1], True)]
    keep = np.ones(len(frame), dtype=bool)
    keep[rows] = False
    keep[latest] = True
    if add_up:
        weights = frame[RATING].to_numpy().copy()
        weights[latest] = added_up(pairs, suspects[RATING].to_numpy())
        frame = frame.with_columns(pl.Series(RATING, weights))
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
        index = np.minimum(np.searchsorted(wanted, here), len(wanted) - 1)
        found.append(np.flatnonzero(wanted[index] == here) + start)
    return np.concatenate(found)
