from typing import Any

import polars as pl
import pytest

from evichain import REC
from evichain.ratings.side import Side
from evichain.testing import planted_blocks

SMALL: dict[str, Any] = {"iterations": 10, "prototype_users": 8, "prototype_items": 8}


@pytest.fixture(scope="module")
def model() -> REC:
    return REC(**SMALL).fit(planted_blocks())


def test_lists_for_many_are_those_for_each(model: REC) -> None:
    some = model.graph.ids[Side.USER].values.to_list()[3:9]
    for seen in (True, False):
        found = model.recommend_all(some, 4, exclude_seen=seen)
        assert found.columns == ["user_id", "rank", "item_id", "title", "estimate", "std"]
        for user in some:
            expected = model.recommend(user, 4, exclude_seen=seen)
            rows = found.filter(pl.col("user_id") == user)
            assert rows["rank"].to_list() == [1, 2, 3, 4]
            assert rows["item_id"].to_list() == [r.item for r in expected]
            estimates = [r.estimate for r in expected]
            assert rows["estimate"].to_list() == pytest.approx(estimates, abs=1e-5)
            stds = [r.std for r in expected]
            assert rows["std"].to_list() == pytest.approx(stds, abs=1e-5)
    everyone = model.recommend_all(n=1)
    assert everyone["user_id"].to_list() == model.graph.ids[Side.USER].values.to_list()
    assert model.recommend_all([], 3).is_empty()
    assert model.recommend_all(some, 0).is_empty()


def test_lists_for_many_have_the_same_reasons_and_caution(model: REC) -> None:
    some = model.graph.ids[Side.USER].values.to_list()[25:32]
    with pytest.warns(UserWarning, match="no lists for an unknown user: nobody"):
        found = model.recommend_all([*some, "nobody"], 3, caution=-1.0, reasons=True)
    named = [column for column in found.columns if column.startswith("reason_")]
    assert named == ["reason_item_id", "reason_title", "reason_rating", "reason_contribution"]
    expected = [r for u in some for r in model.recommend(u, 3, caution=-1.0, reasons=True)]
    assert found["item_id"].to_list() == [r.item for r in expected]
    whys = [r.reason for r in expected]
    assert any(whys)
    assert found["reason_item_id"].to_list() == [w and w.item for w in whys]
    assert found["reason_title"].to_list() == [w and w.title for w in whys]
    assert found["reason_rating"].to_list() == [w and w.rating for w in whys]
    contributions = [w.contribution for w in whys if w]
    assert found["reason_contribution"].drop_nulls().to_list() == pytest.approx(contributions)
    assert model.recommend_all([], reasons=True).columns == found.columns


def test_lists_for_many_are_made_some_at_a_time(
    model: REC, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = model.recommend_all(n=3)
    monkeypatch.setattr("evichain.answering.lists._SCORES", 70)
    found = model.recommend_all(n=3)
    assert found.drop("estimate", "std").equals(expected.drop("estimate", "std"))
