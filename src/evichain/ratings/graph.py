"""The ratings or interactions as a two-way graph: for each side, who with whom, and how.

Immutable; 32-bit indices and 8-bit levels (32-bit floats for continuous scales), so about
ten bytes a rating, and eight an interaction if all have one weight; saved as plain arrays that a
later process maps instead of reading.
"""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl

from evichain.errors import DataError, ModelError
from evichain.kernels import Floats, Ints, Longs
from evichain.ratings.ids import Id, Ids, check_ids
from evichain.ratings.rows import Rows, build_rows, check_rows, merge_rows
from evichain.ratings.scale import Scale, check_scale
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings

_FORMAT = 1
_CARD = "graph.json"
_TITLES = "titles.parquet"
_ARRAYS = ("indptr", "indices", "codes")
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


@dataclass(frozen=True)
class Graph:
    """Ids, rows and scale; `ids[side]` and `rows[side]` are those of a side.

    >>> graph = Graph.build(Ratings.from_arrays(["ann", "ann", "bob"], [7, 9, 9], [5, 3, 4]))
    >>> graph
    Graph(users=2, items=2, ratings=3)
    >>> sorted(graph.rated(Side.USER, 0))
    [(7, 5.0), (9, 3.0)]
    """

    ids: tuple[Ids, Ids]
    rows: tuple[Rows, Rows]
    scale: Scale
    mean: float
    titles: pl.DataFrame | None = None

    def __repr__(self) -> str:
        users, items = (len(self.ids[side]) for side in Side)
        return f"Graph(users={users}, items={items}, {self.noun}s={len(self)})"

    def __len__(self) -> int:
        return len(self.rows[Side.USER].indices)

    @property
    def interactions(self) -> bool:
        """Whether these are interactions: the values of `scale` are weights then."""
        return self.scale.interactions

    @property
    def noun(self) -> str:
        """What a link is, for messages."""
        return "interaction" if self.interactions else "rating"

    @cached_property
    def std(self) -> float:
        """The standard deviation of the ratings about `mean`."""
        return self.scale.std(self.rows[Side.USER].codes, self.mean)

    @property
    def nbytes(self) -> int:
        return sum(rows.nbytes for rows in self.rows)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the ratings, which identifies them."""
        digest = blake2b(digest_size=16)
        rows = self.rows[Side.USER]
        keys = (ids.keys for ids in self.ids)
        for array in (rows.indptr, rows.indices, rows.codes, self.scale.levels, *keys):
            digest.update(np.ascontiguousarray(array).data)
        if self.interactions:
            digest.update(b"interactions")
        return digest.hexdigest()

    @classmethod
    def build(cls, ratings: Ratings) -> "Graph":
        """The graph of a ratings table."""
        if not len(ratings):
            raise DataError("there are no ratings", where=ratings.name, right="Give at least one.")
        nobody = (Ids(pl.Series([], dtype=pl.Int64)),) * 2
        values = ratings.frame["rating"].to_numpy()
        scale = Scale.of(values, interactions=ratings.interactions)
        return _assemble(ratings, nobody, scale)

    def extended(self, ratings: Ratings) -> "Graph":
        """The graph with these ratings too; known entities keep their indices.

        `mean` stays: it is a constant of whatever was trained on the graph.
        """
        if not len(ratings):
            return self
        scale = self.scale.widened(ratings.frame["rating"].to_numpy())
        new = _assemble(ratings, self.ids, scale)
        rows = []
        for side in Side:
            old, keys, other = self.rows[side], new.ids[side].keys, new.ids[side.opposite].keys
            if scale != self.scale:
                old = replace(old, codes=scale.encode(self.scale.decode(old.codes)))
            merged = merge_rows(side, old, new.rows[side], keys, other)
            rows.append(merged.without_codes() if scale.uniform else merged)
        titles = _joined(self.titles, ratings.titles, new.ids[Side.ITEM])
        return Graph(new.ids, (rows[0], rows[1]), scale, self.mean, titles)

    def reduced(self, pairs: tuple[Ints, Ints]) -> "Graph":
        """The graph without the ratings of these (user, item) pairs of indices.

        Entities that have no rating left are gone. `mean` and `scale` stay.
        """
        rows, width = self.rows[Side.USER], len(self.ids[Side.ITEM])
        users = np.repeat(np.arange(len(rows), dtype=np.int64), rows.degrees)
        dropped = pairs[0].astype(np.int64) * width + pairs[1]
        kept = ~np.isin(users * width + rows.indices, dropped)
        table = self.to_ratings()
        return self.emptied().extended(replace(table, frame=table.frame.filter(kept)))

    def emptied(self) -> "Graph":
        """A graph without ratings, with the same scale and mean."""
        users, items = (Ids(ids.values[:0]) for ids in self.ids)
        nothing = [Rows(np.zeros(1, np.int64), r.indices[:0], r.codes[:0]) for r in self.rows]
        return replace(self, ids=(users, items), rows=(nothing[0], nothing[1]), titles=None)

    def to_ratings(self, name: str = "") -> Ratings:
        """The graph as a table again."""
        rows = self.rows[Side.USER]
        users = np.repeat(np.arange(len(rows), dtype=np.int32), rows.degrees)
        frame = pl.DataFrame(
            {
                "user_id": self.ids[Side.USER].values[users],
                "item_id": self.ids[Side.ITEM].values[rows.indices],
                "rating": self.scale.decode(rows.codes),
            }
        )
        return Ratings(frame, self.titles, name=name, interactions=self.interactions)

    def rated(self, side: Side, index: int) -> list[tuple[Id, float]]:
        """What one entity rated or was rated by, as (opposite id, rating)."""
        indices, codes = self.rows[side].row(index)
        names = self.ids[side.opposite].values[indices].to_list()
        return list(zip(names, self.scale.decode(codes).tolist(), strict=True))

    def pairs(self, positions: Longs) -> tuple[Ints, Ints, Floats]:
        """Users, items and ratings at positions of the user rows."""
        rows = self.rows[Side.USER]
        users = np.searchsorted(rows.indptr, positions, side="right") - 1
        ratings = self.scale.decode(rows.codes[positions])
        return users.astype(np.int32), rows.indices[positions], ratings

    @cached_property
    def _title_of(self) -> dict[Id, str]:
        if self.titles is None:
            return {}
        return dict(self.titles.select("item_id", "title").iter_rows())

    def title(self, identifier: Id) -> str:
        """The item's title, or its id as text."""
        return self._title_of.get(identifier, str(identifier))

    def save(self, folder: Path) -> None:
        """Write the graph into a folder that does not exist yet."""
        folder.mkdir(parents=True)
        for side in Side:
            rows = self.rows[side]
            if self.scale.uniform:
                rows = replace(rows, codes=rows.codes[:0])
            for array in _ARRAYS:
                np.save(array_path(folder, side, array), getattr(rows, array))
            save_ids(folder, side, self.ids[side])
        save_card(folder, self.scale, self.mean, self.titles)

    @staticmethod
    def is_at(folder: Path) -> bool:
        """Whether a graph was saved there."""
        return (folder / _CARD).is_file()

    @classmethod
    def load(cls, folder: Path) -> "Graph":
        """Map a saved graph into memory; nothing is read until it is used."""
        try:
            meta = json.loads((folder / _CARD).read_text())
            if meta["format"] != _FORMAT:
                raise ModelError(
                    f"graph format {meta['format']} is not {_FORMAT}",
                    where=str(folder),
                    right="Build it again with this version of evichain.",
                )
            ids, rows = [], []
            for side in Side:
                frame = pl.read_parquet(folder / f"{side.noun}_ids.parquet", glob=False)
                ids.append(Ids(frame["id"], _map(folder, side, "keys")))
                check_ids(ids[-1])
                rows.append(Rows(*(_map(folder, side, array) for array in _ARRAYS)))
            levels = np.load(folder / "levels.npy", allow_pickle=False)
            interactions = bool(meta.get("interactions", False))
            scale = Scale(levels, float(meta["low"]), float(meta["high"]), interactions)
            check_scale(scale)
            if scale.uniform:
                rows = [part.without_codes() for part in rows]
            check_rows((rows[0], rows[1]), [one.keys for one in ids], levels)
            titles = _load_titles(folder / _TITLES)
            return cls((ids[0], ids[1]), (rows[0], rows[1]), scale, float(meta["mean"]), titles)
        except _DAMAGED as error:
            raise ModelError(
                f"no readable graph ({error})",
                where=str(folder),
                right="Give the folder of a saved graph or model.",
            ) from error


def array_path(folder: Path, side: Side, array: str) -> Path:
    """Where a saved graph has an array of a side."""
    return folder / f"{side.noun}_{array}.npy"


def save_ids(folder: Path, side: Side, ids: Ids) -> None:
    """Write the ids of a side into the folder of a graph."""
    np.save(array_path(folder, side, "keys"), ids.keys)
    pl.DataFrame({"id": ids.values}).write_parquet(folder / f"{side.noun}_ids.parquet")


def save_card(folder: Path, scale: Scale, mean: float, titles: pl.DataFrame | None) -> None:
    """Write scale, mean and titles. This comes last: with it, the folder is a complete graph."""
    if titles is not None:
        titles.write_parquet(folder / _TITLES)
    np.save(folder / "levels.npy", scale.levels)
    meta = {"format": _FORMAT, "low": scale.low, "high": scale.high, "mean": mean}
    if scale.interactions:
        meta["interactions"] = True
    (folder / _CARD).write_text(json.dumps(meta, indent=2) + "\n")


def _map(folder: Path, side: Side, array: str) -> np.ndarray:
    path = array_path(folder, side, array)
    mapped: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(mapped, np.ndarray):  # but what `np.load` makes of an archive
        raise ValueError(f"{path.name} is no array")
    return mapped


def _load_titles(path: Path) -> pl.DataFrame | None:
    if not path.exists():
        return None
    titles = pl.read_parquet(path, glob=False)
    if not {"item_id", "title"} <= set(titles.columns):
        raise ValueError(f"{path.name} without the columns item_id and title")
    return titles


def _joined(old: pl.DataFrame | None, new: pl.DataFrame | None, items: Ids) -> pl.DataFrame | None:
    """The titles of both, the new ones first, their ids in the type of the items'."""
    found = [
        titles.select(items.cast(titles["item_id"]).alias("item_id"), pl.col("title"))
        for titles in (old, new)
        if titles is not None
    ]
    return pl.concat(found).unique("item_id", keep="last") if found else None


def _assemble(ratings: Ratings, known: tuple[Ids, Ids], scale: Scale) -> Graph:
    """The graph of a table alone, over the known ids and its own."""
    frame = ratings.frame
    ids = tuple(known[side].extended(frame[side.column]) for side in Side)
    index = [ids[side].encode(frame[side.column]) for side in Side]
    codes = scale.encode(frame["rating"].to_numpy())
    rows = []
    for side in Side:
        other = side.opposite
        built = build_rows(side, index[side], index[other], codes, ids[side].keys, ids[other].keys)
        rows.append(built.without_codes() if scale.uniform else built)
    # Of the rows, not of the table: it must not depend on the order in which ratings came.
    mean = scale.mean(rows[Side.USER].codes)
    return Graph((ids[0], ids[1]), (rows[0], rows[1]), scale, mean, ratings.titles)
