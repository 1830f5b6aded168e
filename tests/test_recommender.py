"""The estimator, through its public door."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evichain import REC, Ratings
from evichain.answering.answers import predict_pairs
from evichain.answering.graph_backend import GraphBackend
from evichain.errors import (
    DataError,
    EvichainError,
    ModelError,
    NotFittedError,
    SettingsError,
)
from evichain.evidence.pool import Pool
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.recipes import settings_for
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


SMALL_PLUS: dict[str, Any] = {
    **SMALL,
    "key_size": 4,
    "channel_size": 4,
    "batch_share": 0.1,
    "evidence_dropout": 0.1,
}


def small(**changes: Any) -> REC:
    return REC("paper", **{**SMALL, **changes})


def small_plus() -> REC:
    return REC(**SMALL_PLUS)


@pytest.fixture(scope="module")
def model() -> REC:
    return small().fit(planted_blocks())


@pytest.mark.parametrize("recipe", [small, small_plus])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conforms(check: Check, recipe: Callable[[], REC]) -> None:
    check(recipe)


def test_a_guest_is_served_like_a_stored_user() -> None:
    """The embedding is exactly that of a user with these ratings whom no item knows yet."""
    model = small(evidence_limit=1000).fit(planted_blocks())
    newcomer = [(0, 5.0), (2, 1.0), (3, 1.0)]
    listed = model.recommend(newcomer, n=999)
    assert not {r.item for r in listed} & {0, 2, 3}
    assert {0, 2, 3} <= {r.item for r in model.recommend(newcomer, n=999, exclude_seen=False)}
    twice = model.recommend([(0, 1.0), *newcomer], n=999)
    assert twice == listed

    rated = Ratings.from_arrays([999] * 3, [i for i, _ in newcomer], [r for _, r in newcomer])
    items = model.backend.items.vectors
    stored = model.add(rated).backend.outputs(Side.USER, model.graph.ids[0].index([999])).vectors[0]
    # With cycle blocking a stored user is left out of what their own items are made of.
    for row in listed:
        index = int(model.graph.ids[1].index([row.item])[0])
        assert row.estimate == pytest.approx(float(items[index] @ stored), abs=1e-5)


def test_a_guest_with_an_unknown_item_or_no_ratings(model: REC) -> None:
    found = model.recommend([(1, 5.0), ("none such", 5.0)])
    assert found == model.recommend([(1, 5.0)])
    assert found.ignored == ("none such",)
    assert model.recommend([]) == []


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda m: m.recommend([(1, float("nan"))]), r"not an \(item, rating\) pair"),
        (lambda m: m.recommend([(1, 1e9)]), "Ratings go from 1 to 5"),
        (lambda m: m.recommend([(1, "good")]), r"not an \(item, rating\) pair"),
        (lambda m: m.recommend([1, 2]), r"not an \(item, rating\) pair"),
        (lambda m: m.recommend(None), "neither a user's id nor a list"),
        (lambda m: m.recommend(1.5), "neither a user's id nor a list"),
        (lambda m: m.recommend(1, n=2.5), "not a valid number of results"),
        (lambda m: m.similar_items(1, n=-1), "not a valid number of results"),
        (lambda m: m.predict(None, 3), "neither an id nor a list"),
        (lambda m: m.predict(np.array(1), 3), "neither an id nor a list"),
        (lambda m: m.add({"user": ["x"], "item": [1], "rating": [1]}), "'x' is not an integer"),
        (lambda m: m.add({"user": ["007"], "item": [1], "rating": [1]}), "'007' is not an integer"),
        (lambda m: REC("paper", patience=3), "patience needs validation"),
        (lambda m: REC(learning_rate=float("inf")), "finite number"),
        (
            lambda m: small(learning_rate=1e9).fit(planted_blocks()),
            "diverged",
        ),
        (lambda m: small().fit(planted_blocks(), run="/dev/null"), "cannot create the run folder"),
        (lambda m: small().fit(planted_blocks(), resume=True), "nothing to resume"),
    ],
)
def test_mistakes_are_named(model: REC, ask: Callable[[REC], Any], said: str) -> None:
    with pytest.raises(EvichainError, match=said):
        ask(model)


def test_odd_ids_are_merely_unknown(model: REC) -> None:
    found = model.predict([float("inf"), None, "", 0.5], [1, 1, 1, 1])  # type: ignore[arg-type]
    assert all("unknown user" in (reason or "") for reason in found.reasons)


def test_a_rating_off_the_scale_is_refused_and_changes_nothing() -> None:
    model = small().fit(planted_blocks())
    before = model.predict(3, [0, 1, 2]).estimates
    with pytest.raises(DataError, match="the rating 77 of item 2 by user 7 is off the scale") as at:
        model.add({"user": [3, 7], "item": [1, 2], "rating": [5, 77]})
    assert "from 1 to 5" in str(at.value)
    assert model.predict(3, [0, 1, 2]).estimates.tolist() == before.tolist()


def test_a_continuous_scale_has_ends_that_are_not_sharp() -> None:
    rated = np.linspace(-10, 10, 900, dtype=np.float32)
    users, items = np.divmod(np.arange(900), 30)
    model = small().fit(Ratings.from_arrays(users, items, rated))
    model.add({"user": [99], "item": [3], "rating": [10.5]})
    assert model.graph.rated(Side.USER, 30) == [(3, 10.0)]
    with pytest.raises(DataError, match="off the scale"):
        model.add({"user": [99], "item": [3], "rating": [13]})


def test_ratings_may_be_named_instead_of_given(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    planted_blocks().frame.select("user_id", "item_id", "rating").write_csv(path)
    found = small().fit(str(path)).evaluate(path)
    assert found.rmse == small().fit(planted_blocks()).evaluate(planted_blocks()).rmse


def test_add_equals_a_graph_that_had_the_ratings_from_the_start() -> None:
    table = planted_blocks()
    late = [*range(0, len(table), 7)]
    early = np.setdiff1d(np.arange(len(table)), late)
    model = small().fit(table.take(early))
    model.add(table.take(late))
    whole = Graph.build(table)
    engine = model.backend
    fresh = GraphBackend(engine.chain, Pool.of(whole, engine.pool.ids), engine.settings)
    users, items = table.frame["user_id"], table.frame["item_id"]
    expected = predict_pairs(fresh, users.to_list(), items.to_list()).estimates
    assert model.predict(users, items).estimates == pytest.approx(expected, abs=1e-5)


def test_validation_ratings_serve_as_evidence_afterwards() -> None:
    table = planted_blocks()
    model = small(validation=0.2, patience=2, validate_every=20).fit(table)
    assert len(model.graph) == len(table)
    assert model.training["validation_rmse"] < 1.5


@pytest.mark.parametrize("patience", [0, 50])
def test_the_validation_error_is_that_of_the_state_that_was_kept(patience: int) -> None:
    looks: list[float] = []

    def watch(step: int, values: dict[str, float], trainer: Any) -> None:
        looks.extend(values[name] for name in values if name == "validation_rmse")

    settings = {"validation": 0.2, "validate_every": 1, "iterations": 12, "learning_rate": 0.3}
    model = small(**settings, patience=patience).fit(planted_blocks(), watch=watch)
    assert min(looks) < looks[-1]
    assert model.training["validation_rmse"] == (min(looks) if patience else looks[-1])


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
    nobody: list[int] = []
    assert len(model.predict(np.array(nobody), 1)) == len(model.predict(0, nobody)) == 0
    assert len(repr(many)) < 400


def test_a_guest_may_be_an_array_and_is_never_taken_for_an_id(model: REC) -> None:
    expected = model.predict([(1, 5.0)], [2])
    assert expected.users == [None]
    for guest in (np.array([[1, 5]]), np.array([[1.0, 5.0]]), {1: 5.0}):
        asked: Any = guest
        assert model.predict(asked, [2]).estimates == expected.estimates
        assert model.recommend(asked, 3) == model.recommend([(1, 5.0)], 3)
    mistakes: list[Any] = [[(1, 5.0), 3], zip([1], [5.0], strict=True)]
    for mistake in mistakes:
        with pytest.raises(EvichainError, match="is not an id"):
            model.predict(mistake, 2)


def test_reasons_tell_the_unknown_from_the_unreachable() -> None:
    island = Ratings.from_arrays(["a", "a", "b", "far"], ["x", "y", "x", "away"], [5, 4, 3, 1])
    model = small(prototype_users=1, prototype_items=1).fit(island)
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
    (tmp_path / ".m.old").mkdir()
    model.save(tmp_path / "m")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".m.old", "m"]
    (tmp_path / "m" / "notes.txt").write_text("precious")
    with pytest.raises(ModelError, match="something other than a model"):
        model.save(tmp_path / "m")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "model.json").write_text("{}")
    (tmp_path / "thesis" / "chapter.txt").write_text("precious")
    with pytest.raises(ModelError, match="something other than a model"):
        model.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "precious"


def test_models_of_another_version_with_the_same_format_load(model: REC, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    card = tmp_path / "m" / "model.json"
    told = json.loads(card.read_text())
    card.write_text(json.dumps({**told, "evichain": "0.2.0"}))
    user, item = (ids.values[0] for ids in model.graph.ids)
    assert REC.load(tmp_path / "m").predict(user, item) == model.predict(user, item)


def test_a_save_that_fails_leaves_the_old_model(
    model: REC, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.save(tmp_path / "m")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ModelError, match="No space left"):
        model.save(tmp_path / "m")
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert REC.load(tmp_path / "m").predict(0, 0) == model.predict(0, 0)


@pytest.mark.parametrize("damage", ["model.json", "model.safetensors", "graph/graph.json"])
def test_a_damaged_model_is_named(model: REC, tmp_path: Path, damage: str) -> None:
    model.save(tmp_path / "m")
    (tmp_path / "m" / damage).write_bytes(b"{}")
    with pytest.raises(ModelError, match="m"):
        REC.load(tmp_path / "m")


def test_a_model_without_weights_is_one_that_lacks_them(model: REC, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"m: the model has no weights: model\.safetensors"):
        REC.load(tmp_path / "m")


def test_no_model_no_answers(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model here"):
        REC.load(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="there is no model here"):
        REC.load(tmp_path / "file")
    with pytest.raises(NotFittedError):
        small().recommend(1)


@pytest.mark.parametrize(("users", "items", "depth"), [(60, 40, 0), (0, 40, 1), (60, 0, 1)])
def test_pmf_rowless_and_columnless_learn_too(users: int, items: int, depth: int) -> None:
    changes = {"prototype_users": users, "prototype_items": items, "max_depth": depth}
    shape = {"embedding_size": 8, "width": 64, "iterations": 600, "annealing": False}
    model = small(**changes, **shape).fit(planted_blocks())
    assert model.evaluate(planted_blocks()).rmse < 1.0


def test_caution_prefers_what_is_sure() -> None:
    model = small_plus().fit(planted_blocks())
    bold, wary = model.recommend(1, n=999), model.recommend(1, n=999, caution=1e6)
    assert {r.item for r in bold} == {r.item for r in wary}
    log_stds = [r.std or 0.0 for r in wary]
    assert log_stds == sorted(log_stds)
    assert [r.estimate for r in bold] == sorted((r.estimate for r in bold), reverse=True)


def test_other_amounts_of_evidence() -> None:
    model = small_plus().fit(planted_blocks())
    users, items = planted_blocks().frame["user_id"], planted_blocks().frame["item_id"]
    own = model.predict(users, items).estimates
    same = model.with_evidence(model.settings.policy.evidence_limit)
    assert np.array_equal(same.predict(users, items).estimates, own)
    everything = model.with_evidence()
    assert everything.settings.policy.evidence_limit == len(model.graph)
    assert not np.array_equal(everything.predict(users, items).estimates, own)
    assert np.array_equal(model.predict(users, items).estimates, own)


def test_a_clone_leaves_to_the_recipe_what_was_left_to_it(tmp_path: Path) -> None:
    twin = REC(**REC(width=32).get_params())
    assert twin.settings == settings_for("plus", width=32)
    assert twin.set_params(recipe="paper").settings == settings_for("paper", width=32)
    fitted = small_plus().fit(planted_blocks())
    fitted.save(tmp_path / "model")
    loaded = REC.load(tmp_path / "model")
    assert loaded.get_params() == fitted.get_params()
    assert loaded.settings == fitted.settings
    with pytest.raises(SettingsError, match="no setting 'foo'"):
        REC(foo=None)


def test_a_newcomer_without_ratings_gets_what_is_usually_liked() -> None:
    model = small_plus().fit(planted_blocks())
    listed = model.recommend([], n=5)
    assert len(listed) == 5
    assert [r.estimate for r in listed] == sorted((r.estimate for r in listed), reverse=True)
    assert small().fit(planted_blocks()).recommend([], n=5) == []


def test_caution_needs_deviations_and_a_number() -> None:
    paper, plus = small().fit(planted_blocks()), small_plus().fit(planted_blocks())
    with pytest.raises(DataError, match="no standard deviations"):
        paper.recommend(0, caution=1.0)
    for caution in (np.nan, np.inf):
        with pytest.raises(DataError, match="caution"):
            plus.recommend(0, caution=caution)
    assert plus.recommend(0, caution=-1.0)


def test_what_is_saved_is_what_was_fitted(tmp_path: Path) -> None:
    model = small().fit(planted_blocks())
    model.set_params(recipe="plus", seed=5).save(tmp_path / "model")
    loaded = REC.load(tmp_path / "model")
    assert (loaded.recipe, loaded.settings) == ("paper", model.backend.settings)
    assert loaded.predict(0, 1) == model.predict(0, 1)


def test_numbers_of_numpy_are_settings_that_can_be_saved(tmp_path: Path) -> None:
    settings = {"iterations": np.int64(2), "learning_rate": np.float32(0.5)}
    model = small(**settings).fit(planted_blocks())
    model.save(tmp_path / "model")
    loaded = REC.load(tmp_path / "model")
    assert loaded.settings == model.settings
    assert loaded.get_params()["iterations"] == 2


def test_other_amounts_of_evidence_are_kept_when_saved(tmp_path: Path) -> None:
    fewer = small().fit(planted_blocks()).with_evidence(4)
    fewer.save(tmp_path / "model")
    loaded = REC.load(tmp_path / "model")
    assert loaded.get_params()["evidence_limit"] == 4
    assert loaded.predict(0, 1) == fewer.predict(0, 1)


@pytest.mark.parametrize(("share", "error"), [(1e-9, None), (1 - 1e-9, "validation")])
def test_validation_shares_at_the_ends(share: float, error: str | None) -> None:
    model = small(validation=share, iterations=2)
    if error is None:
        assert model.fit(planted_blocks()).training["validation_rmse"] is None
    else:
        with pytest.raises(SettingsError, match=error):
            model.fit(planted_blocks())
