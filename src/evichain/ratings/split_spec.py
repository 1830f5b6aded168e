"""Splits as users spell them: `random:0.8`, the names that come with a data set, two files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Unpack

from evichain.errors import SplitError
from evichain.ratings._archives import Files, open_files
from evichain.ratings.catalogue import load_ratings, local_path
from evichain.ratings.reading import ReadOptions, choose_file, read_file, read_ratings
from evichain.ratings.splits import (
    Split,
    cold_split,
    given_split,
    growth_split,
    kfold,
    leave_last_out,
    random_split,
    time_split,
    user_split,
)
from evichain.ratings.table import Ratings

SPELLINGS = (
    "random:0.8, kfold:5/0, users:0.8, users:0.8/5, time:0.8, leave-last-out, growth:0.2, "
    "cold:50/5, TRAIN_FILE,TEST_FILE"
)
"""The splits that `load_split` understands for any data; some data sets have named ones too."""

_LAST = "leave-last-out"
_NAMED = (".base", ".train")


def load_split(data: Any, spec: str, seed: int = 0, **options: Unpack[ReadOptions]) -> Split:
    """Load ratings and split them.

    Args:
        data: a name of the catalogue, a path, or ratings in memory in any form that `fit` takes.
        spec: `random:0.8`, `kfold:5/0`, `users:0.8`, `users:0.8/5` (5 ratings of each user held
            out come after training), `time:0.8`, `leave-last-out` (see `leave_last_out`),
            `growth:0.2` (see `growth_split`) or `cold:50/5` (see `cold_split`); the name of a
            split that comes with the data, such as `u1` of ml-100k; or `TRAIN_FILE,TEST_FILE`,
            two paths (from the current folder or from the folder `data`).
        seed: of the draw, if there is one.
        options: columns, skip_bad_rows, items and events, as for `load_ratings`.
    """
    path = data if isinstance(data, str | Path) else None
    if "," in spec:
        files = (_found(path, part.strip()) for part in spec.split(",", 1))
        train, test = (read_ratings(file, **options) for file in files)
        return given_split(train, test, name=spec)
    if ":" not in spec and spec != _LAST and path is not None:
        return _named_split(path, spec, options)
    # Before anything is read: a misspelled split should not cost minutes.
    split = _parsed(spec)
    if path is not None:
        return split(load_ratings(path, **options), seed)
    # Here, because inputs imports this package's other modules.
    from evichain.ratings.inputs import as_ratings

    return split(as_ratings(data), seed)


def split_ratings(ratings: Ratings, spec: str, seed: int = 0) -> Split:
    """Split ratings as spelled: see `load_split`."""
    return _parsed(spec)(ratings, seed)


def _parsed(spec: str) -> Callable[[Ratings, int], Split]:
    """What makes a split with a spelling, from ratings and a seed."""
    if spec == _LAST:
        return lambda ratings, seed: leave_last_out(ratings)
    kind, _, rest = spec.partition(":")
    first, slash, second = rest.partition("/")
    try:
        if kind == "kfold":
            k, fold = int(first), int(second)
            return lambda ratings, seed: kfold(ratings, k, fold, seed)
        if kind == "cold":
            users, count = int(first), int(second)
            return lambda ratings, seed: cold_split(ratings, users, count, seed)
        if kind == "users":
            share, given = float(first), int(second) if slash else None
            return lambda ratings, seed: user_split(ratings, share, seed, given=given)
        share = float(rest)
    except ValueError:
        raise _misspelled(spec) from None
    if kind == "time":
        return lambda ratings, seed: time_split(ratings, share)
    if kind in ("random", "growth"):
        split = random_split if kind == "random" else growth_split
        return lambda ratings, seed: split(ratings, share, seed)
    raise _misspelled(spec)


def _named_split(data: str | Path, name: str, options: ReadOptions) -> Split:
    with open_files(local_path(data)) as (files, chosen):
        beside = PurePosixPath(chosen or choose_file(files))
        pairs = _named_pairs(files, beside)
        if name not in pairs:
            raise _misspelled(name, sorted(pairs))
        train, test = (
            read_file(files, str(beside.with_name(file)), **options) for file in pairs[name]
        )
    label = str(data)
    return given_split(replace(train, name=label), replace(test, name=label), name=name)


def _named_pairs(files: Files, beside: PurePosixPath) -> dict[str, tuple[str, str]]:
    """The splits that lie as pairs of files beside the ratings."""
    here = [PurePosixPath(name) for name in files.names()]
    names = {path.name for path in here if path.parent == beside.parent}
    pairs = {}
    for file in names:
        stem, suffix = PurePosixPath(file).stem, PurePosixPath(file).suffix
        if suffix in _NAMED and f"{stem}.test" in names:
            pairs[stem] = (file, f"{stem}.test")
    return pairs


def _found(data: str | Path | None, file: str) -> Path:
    path = Path(file).expanduser()
    if data is None:
        return path
    inside = Path(data).expanduser() / file
    return inside if not path.exists() and inside.exists() else path


def _misspelled(spec: str, named: Sequence[str] = ()) -> SplitError:
    own = f"; of this data also {', '.join(named)}" if named else ""
    return SplitError(f"no split {spec!r}", right=f"Splits are spelled {SPELLINGS}{own}.")
