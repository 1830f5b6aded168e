from dataclasses import replace

import polars as pl
import pytest

from evichain.cli._titles import title_of
from evichain.ratings import Ratings
from evichain.ratings.graph import Graph


@pytest.mark.parametrize(
    ("typed", "said"), [("0", "Zero"), ("7", "Seven"), ("8", "8"), ("07", "07"), ("x", "x")]
)
def test_the_title_of_what_was_typed(typed: str, said: str) -> None:
    titles = pl.DataFrame({"item_id": [0, 7], "title": ["Zero", "Seven"]})
    ratings = replace(Ratings.from_arrays([1, 1], [0, 7], [3, 4]), titles=titles)
    assert title_of(Graph.build(ratings), typed) == said
