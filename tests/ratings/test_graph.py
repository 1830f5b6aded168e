import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from tests.strategies import graphs, tables

from evichain.errors import DataError, ModelError
from evichain.ratings.catalogue import load_ratings
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings


def contents(graph: Graph, side: Side) -> dict[object, list[tuple[object, float]]]:
    """Each entity's ratings by id, in the order of its row."""
    return {graph.ids[side][i]: list(graph.rated(side, i)) for i in range(len(graph.ids[side]))}


@settings(max_examples=50)
@given(tables())
def test_both_sides_hold_the_table(table: Ratings) -> None:
    graph = Graph.build(table)
    expected = sorted(table.frame.select("user_id", "item_id", "rating").iter_rows())
    by_user = contents(graph, Side.USER)
    by_item = contents(graph, Side.ITEM)
    assert sorted((u, i, r) for u, row in by_user.items() for i, r in row) == expected
    assert sorted((u, i, r) for i, row in by_item.items() for u, r in row) == expected
    users, items, ratings = graph.pairs(np.arange(len(graph)))
    named = zip(graph.ids[0].values[users], graph.ids[1].values[items], ratings, strict=True)
    assert sorted(named) == expected


@settings(max_examples=50)
@given(tables(), tables())
def test_extending_equals_building_with_everything(old: Ratings, new: Ratings) -> None:
    both = Ratings.from_frame(pl.concat([old.frame, new.frame]))
    extended, built = Graph.build(old).extended(new), Graph.build(both)
    for side in Side:
        assert contents(extended, side) == contents(built, side)
        known = len(Graph.build(old).ids[side])
        assert list(extended.ids[side].values[:known]) == list(Graph.build(old).ids[side].values)
    assert extended.mean == Graph.build(old).mean


def test_rows_do_not_depend_on_the_order_of_the_table() -> None:
    table = Ratings.from_arrays([1, 1, 2, 3, 1], [4, 5, 4, 6, 6], [1, 2, 3, 4, 5])
    graph, shuffled = Graph.build(table), Graph.build(table.take([3, 1, 0, 4, 2]))
    assert all(contents(graph, side) == contents(shuffled, side) for side in Side)
    assert graph.fingerprint == shuffled.fingerprint


@settings(max_examples=20)
@given(graphs())
def test_a_saved_graph_is_mapped_as_it_was(graph: Graph) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        graph.save(Path(folder) / "g")
        loaded = Graph.load(Path(folder) / "g")
        assert isinstance(loaded.rows[Side.USER].indices, np.memmap)
        assert loaded.fingerprint == graph.fingerprint
        assert all(contents(loaded, side) == contents(graph, side) for side in Side)
        assert (loaded.scale, loaded.mean) == (graph.scale, graph.mean)


def test_at_most_twelve_bytes_a_rating() -> None:
    noise = np.random.default_rng(0)
    cells = noise.permutation(1000 * 500)[:100_000]
    graph = Graph.build(Ratings.from_arrays(cells // 500, cells % 500, cells % 10))
    assert graph.nbytes / len(graph) <= 12


def test_titles_survive_and_stand_in_for_ids() -> None:
    titles = pl.DataFrame({"item_id": [7], "title": ["Babe"]})
    table = Ratings(Ratings.from_arrays([1, 1], [7, 8], [3, 4]).frame, titles)
    graph = Graph.build(table)
    assert graph.title(7) == "Babe"
    assert graph.title(8) == "8"
    assert graph.extended(Ratings.from_arrays([2], [7], [1])).title(7) == "Babe"


def test_an_empty_table_is_refused() -> None:
    empty = Ratings(Ratings.from_arrays([1], [1], [1]).frame.clear(), name="nothing.csv")
    with pytest.raises(DataError, match=r"nothing\.csv: there are no ratings"):
        Graph.build(empty)


def test_new_ids_must_be_of_the_same_kind() -> None:
    graph = Graph.build(Ratings.from_arrays([1, 2], ["a", "b"], [3, 4]))
    with pytest.raises(DataError, match="'x' is not an integer"):
        graph.extended(Ratings.from_arrays(["x"], ["a"], [3]))
    assert graph.extended(Ratings.from_arrays(["3"], ["a"], [3])).ids[Side.USER][2] == 3


@pytest.mark.parametrize("damage", ["graph.json", "user_indices.npy", "item_ids.parquet"])
def test_a_damaged_graph_is_named(tmp_path: Path, damage: str) -> None:
    Graph.build(Ratings.from_arrays([1, 2], [1, 2], [3, 4])).save(tmp_path / "g")
    (tmp_path / "g" / damage).write_bytes(b"\x00nonsense")
    with pytest.raises(ModelError, match="no readable graph"):
        Graph.load(tmp_path / "g")


def test_a_saved_graph_is_data_again(tmp_path: Path) -> None:
    table = Ratings.from_arrays(["a", "a", "b"], [7, 9, 9], [5, 3.5, 4])
    Graph.build(table).save(tmp_path / "g")
    again = load_ratings(tmp_path / "g")
    columns = ["user_id", "item_id", "rating"]
    assert again.frame.select(columns).sort(columns).equals(table.frame.sort(columns))


@pytest.mark.parametrize(
    ("array", "values"),
    [
        ("item_indices", np.full(3, 2**30, np.int32)),
        ("item_indices", np.zeros(2, np.int32)),
        ("user_indices", np.full(3, -1, np.int32)),
        ("user_indices", np.zeros(3, np.int64)),
        ("user_indptr", np.array([0, 3, 1])),
        ("user_codes", np.full(3, 200, np.uint8)),
        ("item_keys", np.zeros(1, np.uint64)),
    ],
)
def test_arrays_that_kernels_could_not_trust_are_refused(
    tmp_path: Path, array: str, values: np.ndarray
) -> None:
    Graph.build(Ratings.from_arrays([1, 1, 2], [7, 8, 8], [3, 4, 5])).save(tmp_path / "g[1]")
    assert len(Graph.load(tmp_path / "g[1]")) == 3
    np.save(tmp_path / "g[1]" / f"{array}.npy", values)
    with pytest.raises(ModelError, match="no readable graph"):
        Graph.load(tmp_path / "g[1]")


def _empty(folder: Path) -> None:
    (folder / "user_keys.npy").write_bytes(b"")


def _packed(folder: Path) -> None:
    with (folder / "item_codes.npy").open("wb") as file:
        np.savez(file, np.zeros(3))


def _ids(side: str, values: list[Any]) -> Callable[[Path], None]:
    frame = pl.DataFrame({"id": values})
    return lambda folder: frame.write_parquet(folder / f"{side}_ids.parquet")


def _levels(values: np.ndarray) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / "levels.npy", values)


def _scale(folder: Path) -> None:
    card = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps({**card, "low": math.nan}))


def _titles(folder: Path) -> None:
    pl.DataFrame({"item_id": [7, 8]}).write_parquet(folder / "titles.parquet")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_empty, "No data left in file|EOF"),
        (_packed, "no array"),
        (_ids("user", [1, 2, 3, 4]), "4 ids but 2 keys"),
        (_ids("user", [1, 3]), "the key of 3 is that of another id"),
        (_ids("item", ["7", "7"]), "missing or repeated"),
        (_ids("item", [7.5, 8.5]), "ids of type Float64"),
        (_levels(np.array([3, 4, 5], np.float64)), "32-bit"),
        (_levels(np.array([[3, 4, 5]], np.float32)), "32-bit"),
        (_levels(np.array([5, 4, 3], np.float32)), "do not ascend"),
        (_scale, "a scale from nan"),
        (_titles, "without the columns item_id and title"),
    ],
)
def test_files_that_do_not_fit_each_other_are_refused(
    tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    Graph.build(Ratings.from_arrays([1, 1, 2], [7, 8, 8], [3, 4, 5])).save(tmp_path / "g")
    damage(tmp_path / "g")
    with pytest.raises(ModelError, match=f"no readable graph .*({said})"):
        Graph.load(tmp_path / "g")


def test_fingerprints_tell_scales_apart() -> None:
    low = Graph.build(Ratings.from_arrays([1, 1, 2], [7, 8, 8], [1, 2, 3]))
    high = Graph.build(Ratings.from_arrays([1, 1, 2], [7, 8, 8], [10, 20, 500]))
    assert low.fingerprint != high.fingerprint
