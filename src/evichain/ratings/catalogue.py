"""The data sets that can be asked for by name, and ratings from a name or a path."""

import os
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Unpack

import platformdirs

from evichain.errors import DataError
from evichain.ratings._movielens import MOVIELENS, Dataset
from evichain.ratings.download import fetch_set, is_complete, note_of
from evichain.ratings.reading import ReadOptions, read_ratings
from evichain.ratings.table import Ratings

__all__ = ["CATALOGUE", "Dataset", "cache_folder", "fetch", "is_fetched", "load_ratings"]

CATALOGUE: Mapping[str, Dataset] = MappingProxyType({one.name: one for one in MOVIELENS})
"""The data sets by name."""


def cache_folder() -> Path:
    """Where fetched data sets are kept: EVICHAIN_CACHE, or else the user's cache folder."""
    chosen = os.environ.get("EVICHAIN_CACHE")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("evichain")


def fetch(name: str, *, cache: str | Path | None = None, force: bool = False) -> Path:
    """The folder with the files of a data set, downloaded and verified if it is not there yet.

    Args:
        name: one of the catalogue.
        cache: where to keep it; `cache_folder()` by default.
        force: download it again.

    Raises:
        DownloadError: when no source can be reached or none verifies; nothing is left behind.
    """
    if name not in CATALOGUE:
        raise DataError(f"no data set {name!r}", right=f"There are {', '.join(CATALOGUE)}.")
    dataset = CATALOGUE[name]
    folder = Path(cache).expanduser() if cache is not None else cache_folder()
    help = f"Download it by hand from {dataset.homepage} and give its path instead of the name."
    return fetch_set(name, dataset.sources, folder, force=force, help=help)


def is_fetched(name: str, *, cache: str | Path | None = None) -> bool:
    """Whether a data set is in the cache."""
    return is_complete((Path(cache).expanduser() if cache is not None else cache_folder()) / name)


def load_ratings(data: str | Path, **options: Unpack[ReadOptions]) -> Ratings:
    """Ratings by the name of a data set or from a path.

    Args:
        data: a name of the catalogue, fetched when needed; or a path to a file, to a folder like
            MovieLens' own, to a zip of one or to a saved graph. A name of the catalogue wins
            over a file of the same name: write `./ml-100k` for the file.
        options: columns, skip_bad_rows, items and events, for tables that are not in a usual form;
            see `ReadOptions`.
    """
    path = local_path(data)
    if (path / "graph.json").is_file():
        # Here, because the kernels behind graphs take a second to import.
        from evichain.ratings.graph import Graph

        return Graph.load(path).to_ratings(name=str(data))
    ratings = read_ratings(path, **options)
    if not is_name(data):
        return ratings
    note = note_of(local_path(data))
    return replace(ratings, name=f"{data} ({note})" if note else str(data))


def is_name(data: str | Path) -> bool:
    """Whether it names a data set of the catalogue."""
    return isinstance(data, str) and data in CATALOGUE


def local_path(data: str | Path) -> Path:
    """The path of a data set, fetched if need be, or of the file or folder meant."""
    if isinstance(data, str) and is_name(data):
        return fetch(data)
    path = Path(data).expanduser()
    # A name too long for the system to look for is an error there, not an absence.
    with suppress(OSError):
        if path.exists():
            return path
    close = get_close_matches(str(data).lower(), CATALOGUE, n=1)
    hint = f"Did you mean {close[0]}? " if close else ""
    raise DataError(
        "neither a file nor a data set of that name",
        where=textwrap.shorten(str(data), 200),
        right=f"{hint}Data sets are {', '.join(CATALOGUE)}.",
    )
