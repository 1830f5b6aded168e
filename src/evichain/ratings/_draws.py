"""Seeded draws over the rows of a ratings table, as the splits need them."""

import numpy as np
import numpy.typing as npt
import polars as pl

from evichain.errors import SplitError
from evichain.ratings.side import Side
from evichain.ratings.table import Column, Ratings


def generator(seed: int) -> np.random.Generator:
    """The source of all draws of a seed."""
    if seed < 0:
        raise SplitError(f"a seed of {seed}", right="It is 0 or more.")
    return np.random.Generator(np.random.PCG64(seed))


def codes_of(ratings: Ratings, side: Side) -> tuple[npt.NDArray[np.int64], pl.Series]:
    """Each row's entity as a number, and the ids by number: sorted, so that only ids decide."""
    values = ratings.frame[side.column]
    ids = values.unique().sort()
    if values.dtype == pl.Int64:
        return np.searchsorted(ids.to_numpy(), values.to_numpy()), ids
    numbers = pl.Series(np.arange(len(ids)))
    return values.replace_strict(ids, numbers, return_dtype=pl.Int64).to_numpy(), ids


def positions(ids: pl.Series, wanted: Column, side: Side) -> npt.NDArray[np.int64]:
    """The numbers of some ids."""
    known = dict(zip(ids.to_list(), range(len(ids)), strict=True)) if len(wanted) else {}
    listed = wanted.tolist() if isinstance(wanted, np.ndarray) else list(wanted)
    unknown = [id_ for id_ in listed if id_ not in known]
    if unknown:
        raise SplitError(
            f"{side.noun} {unknown[0]!r} has no ratings", right="Name ids that are in the table."
        )
    return np.array([known[id_] for id_ in listed], dtype=np.int64)


def rank_within(codes: npt.NDArray[np.int64], draws: np.random.Generator) -> npt.NDArray[np.int64]:
    """Each row's place in a random order of the rows of its entity."""
    order = draws.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    grouped = codes[order]
    starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    lengths = np.diff(np.r_[starts, len(codes)])
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return ranks
