"""The estimator, through its public door."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evichain import REC, Ratings
from evichain.errors import EvichainError, ModelError, NotFittedError, UnknownEntityError
from evichain.testing import CHECKS, planted_blocks
from evichain.testing.expectations import Check

SMALL: dict[str, Any] = {
    "iterations": 150,
    "batch_size": 128,
    "learning_rate": 5e-3,
    "embedding_size": 4,
    "width": 16,
    "prototype_users": 8,
    "prototype_items": 8,
    "evidence_limit": 16,
    "max_depth": 2,
}


def small() -> REC:
    return REC(recipe="paper", **SMALL)


@pytest.fixture(scope="module")
def model() -> REC:
    return small().fit(planted_blocks())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conforms(check: Check) -> None:
    check(small)


def test_a_guest_is_served_like_a_stored_user(model: REC) -> None:
    """Someone with the same ratings, evidence within the limit, gets the same list."""
    guest = REC(**{**SMALL, "evidence_limit": 1000, "cycle_blocking": False})
    guest.fit(planted_blocks())
    newcomer = [(0, 5.0), (2, 1.0), (3, 1.0)]
    before = guest.recommend(newcomer, n=5)
    rated = Ratings.from_arrays([999] * 3, [i for i, _ in newcomer], [r for _, r in newcomer])
    stored = guest.add(rated).recommend(999, n=5)
    assert [r.item for r in before] == [r.item for r in stored]
    assert all(abs(a.estimate - b.estimate) < 0.5 for a, b in zip(before, stored, strict=True))
    assert not {r.item for r in before} & {0, 2, 3}
    assert {0, 2, 3} & {r.item for r in guest.recommend(newcomer, n=999, exclude_seen=False)}


def test_a_guest_with_an_unknown_item_or_no_ratings(model: REC) -> None:
    with pytest.raises(UnknownEntityError, match="unknown item 'none such'"):
        model.recommend([("none such", 5.0)])
    assert model.recommend([]) == []


def test_validation_ratings_serve_as_evidence_afterwards() -> None:
    table = planted_blocks()
    model = REC(**{**SMALL, "validation": 0.2, "patience": 2, "validate_every": 20}).fit(table)
    assert len(model.graph) == len(table)
    assert model.training["validation_rmse"] < 1.5


def test_evaluation_counts_what_was_impossible(model: REC) -> None:
    found = model.evaluate(pl.DataFrame({"user": [0, 0], "item": [0, 12345], "rating": [5, 5]}))
    assert (found.ratings, found.impossible) == (2, 1)
    gap = abs(model.predict(0, 12345).estimate - 5)
    assert found.mae == pytest.approx((abs(model.predict(0, 0).estimate - 5) + gap) / 2)


def test_one_user_with_many_items(model: REC) -> None:
    many = model.predict(0, [0, 1, 2])
    single = [model.predict(0, i).estimate for i in (0, 1, 2)]
    assert many.estimates.tolist() == pytest.approx(single, abs=1e-5)
    assert model.predict(0, "1").reason is None
    assert model.predict(np.arange(2), np.arange(2)).reasons == [None, None]
    with pytest.raises(EvichainError, match="2 users but 3 items"):
        model.predict([0, 1], [0, 1, 2])


def test_reasons_tell_the_unknown_from_the_unreachable() -> None:
    island = Ratings.from_arrays(["a", "a", "b", "far"], ["x", "y", "x", "away"], [5, 4, 3, 1])
    model = REC(**{**SMALL, "prototype_users": 1, "prototype_items": 1}).fit(island)
    assert model.predict("who", "x").reason == "unknown user 'who'"
    assert model.predict("a", "what").reason == "unknown item 'what'"
    reason = model.predict("far", "x").reason
    assert reason == "no chain of evidence from user 'far' to a prototype within depth 2"
    assert model.predict("far", "x").estimate == pytest.approx(13 / 4)
    assert model.recommend("far") == []
    assert model.similar_items("away") == []
    told = model.explain("far", "x")
    assert told.reason == reason
    assert "no chain" in told.text()


def test_saving_replaces_a_model_but_nothing_else(model: REC, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    model.save(tmp_path / "m")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("precious")
    with pytest.raises(ModelError, match="something else than a model"):
        model.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "precious"


@pytest.mark.parametrize("damage", ["model.json", "model.safetensors", "graph/graph.json"])
def test_a_damaged_model_is_named(model: REC, tmp_path: Path, damage: str) -> None:
    model.save(tmp_path / "m")
    (tmp_path / "m" / damage).write_bytes(b"{}")
    with pytest.raises(ModelError, match="m"):
        REC.load(tmp_path / "m")


def test_no_model_no_answers(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model here"):
        REC.load(tmp_path / "none")
    with pytest.raises(NotFittedError):
        small().recommend(1)


@pytest.mark.parametrize(("users", "items", "depth"), [(60, 40, 0), (0, 40, 1), (60, 0, 1)])
def test_pmf_rowless_and_columnless_learn_too(users: int, items: int, depth: int) -> None:
    changes = {"prototype_users": users, "prototype_items": items, "max_depth": depth}
    shape = {"embedding_size": 8, "width": 64, "iterations": 600, "annealing": False}
    model = REC(**{**SMALL, **changes, **shape}).fit(planted_blocks())
    assert model.evaluate(planted_blocks()).rmse < 1.0
