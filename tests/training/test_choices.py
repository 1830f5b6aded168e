"""Choices through the estimator: planted blocks, newcomers, dislikes, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.choices import LIKED, liked_blocks

from evichain import REC, Ratings
from evichain.errors import DataError, SettingsError
from evichain.training.choices import first_log_weight, log_weights

SMALL: dict[str, Any] = {"key_size": 8, "prototype_items": 10, "max_depth": 3}
SET: dict[str, Any] = {
    "choice_ridge": 0.01,
    "unchosen_weight": 0.3,
    "item_discount": 0.25,
    "user_discount": 0.25,
}
BLOCKS = liked_blocks(100, 40)


def block_of(entity: Any) -> int:
    return int(entity) % 2


@pytest.fixture(scope="module")
def clicks() -> Ratings:
    """Who liked what in the blocks, without ratings."""
    frame = BLOCKS.frame.filter(BLOCKS.frame["rating"] >= LIKED)
    return Ratings.from_frame(frame.select("user_id", "item_id"))


@pytest.fixture(scope="module")
def model(clicks: Ratings) -> REC:
    return REC("choices", **SMALL).fit(clicks)


def test_lists_are_of_ones_own_block(model: REC, clicks: Ratings) -> None:
    liked: dict[Any, set[Any]] = {}
    for user, item in clicks.frame.select("user_id", "item_id").iter_rows():
        liked.setdefault(user, set()).add(item)
    some = sorted(liked)[:20]
    hits = [
        len({entry.item for entry in model.recommend(user, 5, exclude_seen=False)} & liked[user])
        for user in some
    ]
    assert np.mean(hits) > 4


def test_constants_are_chosen_on_validation_lists(model: REC) -> None:
    found = model.training
    assert 0 < found["validation_ndcg"] <= 1
    assert all(found[name] is not None for name in SET)
    given = REC("choices", **SMALL, **SET).fit(model.graph)
    assert {name: given.training[name] for name in SET} == SET
    assert given.training["validation_ndcg"] is None


def test_a_saved_model_answers_alike(model: REC, clicks: Ratings, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded, again = REC.load(tmp_path / "model"), REC("choices", **SMALL).fit(clicks)
    user = clicks.frame["user_id"][0]
    expected = model.recommend(user, 5, reasons=True).to_dict()
    assert loaded.recommend(user, 5, reasons=True).to_dict() == expected
    assert again.recommend(user, 5, reasons=True).to_dict() == expected
    assert loaded.parameter_count == model.parameter_count < 5000


def test_newcomers_need_no_training(model: REC, clicks: Ratings, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    grown, user = REC.load(tmp_path / "model"), clicks.frame["user_id"][0]
    liked = clicks.frame.filter(clicks.frame["user_id"] == user)["item_id"].to_list()
    guest = [(item, 1.0) for item in liked[:4]]
    alike = {entry.item for entry in grown.recommend(guest, 6, exclude_seen=False)}
    assert len(alike & set(liked)) >= 4
    fans = clicks.frame.filter(clicks.frame["item_id"] == liked[0])["user_id"].to_list()
    new = 10**6
    grown.add(Ratings.from_arrays(fans, [new] * len(fans)))
    assert any(entry.item == new for entry in grown.recommend(guest, 12))


def test_whoever_is_unknown_gets_what_is_usual(model: REC) -> None:
    listed = [entry.item for entry in model.recommend([], 3)]
    assert len(listed) == 3
    assert not model.estimates_ratings


def test_a_dislike_lowers_what_is_like_it(model: REC, clicks: Ratings) -> None:
    user = clicks.frame["user_id"][0]
    liked = clicks.frame.filter(clicks.frame["user_id"] == user)["item_id"].to_list()
    first, *others = liked[:5]

    def rest(rating: float) -> float:
        guest = [(first, 1.0), *((item, rating) for item in others)]
        return float(model.predict(guest, liked[5:]).estimates.mean())

    alone = float(model.predict([(first, 1.0)], liked[5:]).estimates.mean())
    assert rest(-1.0) < alone < rest(1.0)


def test_a_removed_choice_is_worth_what_its_piece_says(model: REC, clicks: Ratings) -> None:
    user = clicks.frame["user_id"][0]
    listed = model.recommend(user, 1, reasons=True)[0]
    assert listed.reason is not None
    without = model.predict(user, [listed.item], without=[listed.reason.item])[0].estimate
    lost = listed.estimate - without
    assert lost == pytest.approx(listed.reason.contribution, abs=1e-5)
    trace = model.explain(user, listed.item, pieces=50, depth=1)
    by_item = {piece.id: piece.contribution for piece in trace.user.pieces}
    assert by_item[listed.reason.item] == pytest.approx(lost, abs=1e-5)
    assert {piece.depth for piece in trace.item.pieces} == {1}


def test_ratings_below_the_threshold_are_no_choices() -> None:
    low = REC("choices", liked_from=LIKED, **SMALL, **SET).fit(BLOCKS)
    everything = REC("choices", liked_from=1.0, **SMALL, **SET).fit(BLOCKS)
    user = BLOCKS.frame["user_id"][0]
    one, other = (m.recommend(user, 20).to_dict()["recommendations"] for m in (low, everything))
    assert one != other


@pytest.mark.parametrize("discount", [0.0, 0.25, 1.0])
def test_the_mean_weight_of_links_is_one(discount: float) -> None:
    counts = np.array([1, 4, 4, 100])
    weights = np.exp(log_weights(counts, discount))
    assert (weights * counts).sum() == pytest.approx(counts.sum())
    first = np.exp(first_log_weight(counts, discount))
    np.testing.assert_allclose(weights, first * counts**-discount)


def test_what_does_not_fit_is_refused(clicks: Ratings, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="these are interactions"):
        REC().fit(clicks)
    with pytest.raises(SettingsError, match="without a run folder"):
        REC("choices", **SMALL).fit(clicks, run=tmp_path / "run")
    with pytest.raises(SettingsError, match="no rating is 9 or more"):
        REC("choices", liked_from=9.0, **SMALL, **SET).fit(BLOCKS)
    with pytest.raises(DataError, match="nothing was chosen"):
        REC("choices", **SMALL, **SET).fit(Ratings.from_arrays([1, 2], [3, 4], weights=[-1, -2]))
    for wrong in (
        {"staggered": False},
        {"max_depth": 4},
        {"shared_generators": True},
        {"prototype_users": 5},
        {"prototype_items": 0},
    ):
        with pytest.raises(SettingsError):
            REC("choices", **wrong)
    with pytest.raises(SettingsError, match="belong together"):
        REC("plus", staggered=True)
