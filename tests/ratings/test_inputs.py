from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evichain import REC
from evichain.errors import DataError, SplitError
from evichain.ratings import Ratings, load_split
from evichain.ratings.graph import Graph
from evichain.ratings.inputs import as_ratings, as_source
from evichain.testing import planted_blocks


def test_a_name_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    graph = Graph.build(planted_blocks())
    graph.save(tmp_path / "g")
    for name in ("~/g", Path("~/g")):
        found = as_source(name)
        assert isinstance(found, Graph)
        assert found.fingerprint == graph.fingerprint
    planted_blocks().frame.write_csv(tmp_path / "mine.csv")
    assert isinstance(as_source("~/mine.csv"), Ratings)


ROWS = [(0, 1, 4.0), (0, 2, 3.0), (1, 1, 5.0), (1, 2, 0.0)]


def forms() -> dict[str, Any]:
    sparse = pytest.importorskip("scipy.sparse")
    pandas = pytest.importorskip("pandas")
    users, items, ratings = (list(column) for column in zip(*ROWS, strict=True))
    return {
        "tuples": ROWS,
        "array": np.array(ROWS),
        "sparse": sparse.csr_array((ratings, (users, items)), shape=(2, 3)),
        "dict": {"user": users, "item": items, "rating": ratings},
        "polars": pl.DataFrame(ROWS, schema=["user", "item", "rating"], orient="row"),
        "pandas": pandas.DataFrame(ROWS, columns=["user", "item", "rating"]),
    }


@pytest.mark.parametrize("form", ["tuples", "array", "sparse", "dict", "polars", "pandas"])
def test_ratings_in_any_form(form: str) -> None:
    ratings = forms()[form]
    assert as_ratings(ratings).frame.rows() == ROWS
    parts = load_split(ratings, "random:0.5", 3)
    assert sorted(parts.train.frame.rows() + parts.test.frame.rows()) == ROWS
    own = as_ratings(ratings).split("random:0.5", seed=3)
    assert own.test.frame.equals(parts.test.frame)


@pytest.mark.parametrize("form", ["tuples", "array", "sparse", "dict", "polars", "pandas"])
def test_a_model_takes_any_form(form: str) -> None:
    ratings = forms()[form]
    settings: dict[str, Any] = {"iterations": 1, "embedding_size": 4, "width": 8}
    model, expected = (REC(**settings).fit(r) for r in (ratings, as_ratings(ROWS)))
    assert model.predict(0, 2) == expected.predict(0, 2)
    assert model.evaluate(ratings).rmse == expected.evaluate(as_ratings(ROWS)).rmse
    assert len(model.add(ratings).graph) == len(ROWS)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (np.zeros((3, 4, 3)), "4 x 3 columns instead of 2, 3 or 4"),
        (np.zeros(3), "1 columns instead of 2, 3 or 4"),
        ([(1, 2, 3), (1, 2)], "one length"),
        ([1, 2], "one length"),
        ([], "columns instead of 2, 3 or 4"),
        (7, "int is not a form of ratings"),
    ],
)
def test_what_is_not_ratings(form: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        as_ratings(form)


def test_a_table_has_no_named_splits() -> None:
    with pytest.raises(SplitError, match="no split 'u1'"):
        as_ratings(ROWS).split("u1")


def test_notes_columns_titles_and_bad_rows_of_a_frame() -> None:
    frame = {"who": [1, 2], "item": [7, 7], "rating": ["x", "4"], "title": ["A", "A"], "z": [0, 0]}
    ratings = Ratings.from_frame(frame, columns={"user": "who"}, skip_bad_rows=True)
    assert ratings.frame.rows() == [(2, 7, 4.0)]
    assert ratings.titles is not None
    assert ratings.titles.rows() == [(7, "A")]
    assert ratings.notes == (
        "table: not used: column 'z'",
        "table: skipped 1 bad row (first: row 1: rating 'x' is not a finite number)",
    )
