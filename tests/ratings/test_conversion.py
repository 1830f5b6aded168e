"""Graphs built out of core are those that are built in memory, byte for byte."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.full import full_disk

from evichain.errors import DataError
from evichain.ratings import read_ratings
from evichain.ratings._buckets import ArrayFile
from evichain.ratings.conversion import convert_parquet
from evichain.ratings.graph import Graph, array_path
from evichain.ratings.side import Side


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    """Tables with repeated pairs, with and without times; few levels or very many."""
    rows = draw(st.integers(1, 400))
    noise = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    users = noise.integers(0, draw(st.integers(1, 40)), rows) * draw(st.sampled_from([1, 10**15]))
    items = noise.zipf(1.5, rows) % draw(st.integers(1, 40))
    values = noise.integers(1, 6, rows).astype(float)
    if draw(st.booleans()):
        values = noise.random(rows)
    columns: dict[str, Any] = {"user": users, "item": items, "rating": values}
    if draw(st.booleans()):
        columns["item"] = [f"item {item}" for item in items]
    if draw(st.booleans()):
        times = pl.Series(noise.integers(0, draw(st.sampled_from([2, 10**10])), rows))
        dated = draw(st.booleans())
        columns["timestamp"] = times.cast(pl.Datetime("ms")) if dated else times
    return pl.DataFrame(columns)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_memory(path: Path, folder: Path) -> dict[str, bytes]:
    Graph.build(read_ratings(path)).save(folder)
    return files(folder)


@settings(max_examples=40)
@given(frames(), st.integers(1, 50), st.integers(1, 50), st.integers(1, 3))
def test_equals_the_conversion_in_memory(
    frame: pl.DataFrame, piece: int, bucket: int, parts: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "ratings.parquet"
        if parts > 1:
            source = folder / "parts"
            source.mkdir()
            for number in range(parts):
                share = frame[number * len(frame) // parts : (number + 1) * len(frame) // parts]
                share.write_parquet(source / f"part-{number}.parquet", row_group_size=7)
        else:
            frame.write_parquet(source, row_group_size=7)
        found = convert_parquet(source, folder / "out", piece=piece, bucket=bucket)
        assert found is not None
        expected = in_memory(source, folder / "in")
        assert files(folder / "out") == expected
        graph = Graph.load(folder / "out")
        assert (found.ratings, found.duplicates) == (len(graph), len(frame) - len(graph))
        assert (found.users, found.items) == tuple(map(len, graph.ids))


def test_values_that_only_dropped_ratings_had_are_no_levels(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    old = pl.DataFrame({"user": [1] * 300, "item": range(300), "rating": np.arange(300) / 7})
    new = old.with_columns(rating=pl.lit(3.0))
    pl.concat([old, new]).write_parquet(path)
    found = convert_parquet(path, tmp_path / "out", piece=64, bucket=64)
    assert found is not None
    assert found.duplicates == 300
    assert Graph.load(tmp_path / "out").scale.levels.tolist() == [3.0]
    assert files(tmp_path / "out") == in_memory(path, tmp_path / "in")


def test_titles_come_along(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    pl.DataFrame({"user": [1, 2], "item": [7, 8], "rating": [3, 4]}).write_parquet(path)
    pl.DataFrame({"item_id": [7], "title": ["Babe"]}).write_parquet(tmp_path / "items.parquet")
    convert_parquet(path, tmp_path / "out")
    assert Graph.load(tmp_path / "out").title(7) == "Babe"
    assert files(tmp_path / "out") == in_memory(path, tmp_path / "in")


def test_ids_too_large_for_integers_become_text(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    users = pl.Series([1, 2**63 + 5], dtype=pl.UInt64)
    pl.DataFrame({"user": users, "item": [7, 8], "rating": [3, 4]}).write_parquet(path)
    convert_parquet(path, tmp_path / "out", piece=1)
    assert Graph.load(tmp_path / "out").ids[0].values.to_list() == ["1", str(2**63 + 5)]
    assert files(tmp_path / "out") == in_memory(path, tmp_path / "in")


def test_a_time_column_of_nothing_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    nothing = pl.Series([None, None], dtype=pl.Int64)
    pl.DataFrame({"user": [1, 1], "item": [7, 7], "rating": [3, 4], "time": nothing}).write_parquet(
        path
    )
    found = convert_parquet(path, tmp_path / "out")
    assert found is not None
    assert found.duplicates == 1
    assert files(tmp_path / "out") == in_memory(path, tmp_path / "in")


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(("values", "most", "kept"), [(5, 21, 10), (10**6, 24, 16)])
def test_what_it_takes_of_the_disk_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timed: bool, values: int, most: int, kept: int
) -> None:
    rows, out, peaks = 20_000, tmp_path / "out", [0, 0]
    draw = np.random.default_rng(0)
    pairs = draw.choice(200 * 200, rows, replace=False)
    columns = {
        "user": pairs // 200,
        "item": pairs % 200,
        "rating": draw.integers(values, size=rows),
    }
    columns |= {"timestamp": pairs} if timed else {}
    pl.DataFrame(columns).write_parquet(tmp_path / "ratings.parquet")

    def size() -> int:
        return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())

    class Watched(ArrayFile):
        def append(self, array: np.ndarray[Any, Any]) -> None:
            super().append(array)
            self._file.flush()
            items = array_path(out, Side.ITEM, "codes").exists()
            peaks[items] = max(peaks[items], size())

    monkeypatch.setattr("evichain.ratings.conversion.ArrayFile", Watched)
    convert_parquet(tmp_path / "ratings.parquet", out, piece=1000, bucket=1000)
    ids = 400 * 40 + 2000
    assert most * rows <= peaks[Side.USER] < most * rows + ids
    # The users' ratings as numbers, four bytes each, are gone by then.
    assert peaks[Side.ITEM] < (most - 4) * rows + ids
    assert kept * rows <= size() < kept * rows + ids


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("rating", float("nan"), "row 6: rating nan is not a finite number"),
        ("rating", None, "row 6: rating is missing"),
        ("user", None, "row 6: user_id is missing"),
    ],
)
def test_a_bad_row_is_named_wherever_it_is(
    tmp_path: Path, column: str, value: float | None, said: str
) -> None:
    columns: dict[str, list[Any]] = {"user": [*range(8)], "item": [1] * 8, "rating": [2.0] * 8}
    columns[column][5] = value
    pl.DataFrame(columns).write_parquet(tmp_path / "ratings.parquet")
    with pytest.raises(DataError, match=said):
        convert_parquet(tmp_path / "ratings.parquet", tmp_path / "out", piece=2)


def test_no_rows_and_no_parquet(tmp_path: Path) -> None:
    pl.DataFrame({"user": [], "item": [], "rating": []}).write_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match="no ratings in it"):
        convert_parquet(tmp_path / "none.parquet", tmp_path / "out")
    (tmp_path / "ratings.csv").write_text("user,item,rating\n1,2,3\n")
    assert convert_parquet(tmp_path / "ratings.csv", tmp_path / "out") is None
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("room", [0, 1000, 9000])
def test_a_full_disk_is_no_damaged_table(tmp_path: Path, room: int) -> None:
    numbers = np.arange(5000)
    source, folder = tmp_path / "ratings.parquet", tmp_path / "g"
    columns = {"user": numbers // 50, "item": numbers % 50, "rating": numbers % 5}
    pl.DataFrame(columns).write_parquet(source)
    convert_parquet(source, tmp_path / "before")
    with full_disk(room), pytest.raises(DataError, match=r"g: cannot be written"):
        convert_parquet(source, folder)
