from dataclasses import replace

import polars as pl
import pytest

from evichain.cli._titles import as_known, named, title_of
from evichain.ratings import Ratings, Side
from evichain.ratings.graph import Graph
from evichain.ratings.ids import Id


@pytest.fixture
def graph() -> Graph:
    titles = pl.DataFrame({"item_id": [0, 7], "title": ["Zero", "Seven"]})
    ratings = Ratings.from_arrays(["a", "5"], [0, 7], [3, 4])
    return Graph.build(replace(ratings, titles=titles))


@pytest.mark.parametrize(
    ("typed", "said"), [("0", "Zero"), ("7", "Seven"), ("8", "8"), ("07", "07"), ("x", "x")]
)
def test_the_title_of_what_was_typed(graph: Graph, typed: str, said: str) -> None:
    assert title_of(graph, typed) == said
    assert named(graph, typed) == (f"item {typed}" if said == typed else said)


def test_ids_have_the_type_of_the_data_where_it_has_them(graph: Graph) -> None:
    typed: list[Id] = ["7", 0, "8", "07", "x", "9" * 30]
    assert as_known(graph, Side.ITEM, typed) == [7, 0, *typed[2:]]
    assert as_known(graph, Side.USER, ["a", 5, "7", 8]) == ["a", "5", "7", 8]
