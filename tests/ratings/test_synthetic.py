"""Made-up ratings are what their card says."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evichain.errors import SettingsError
from evichain.ratings import read_ratings
from evichain.ratings import synthetic as module
from evichain.ratings.synthetic import CARD, Synthetic

MADE = Synthetic(ratings=20_000, users=500, items=1000, seed=3)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return pl.concat(MADE.parts())


def test_so_many_ratings_each_pair_once_in_half_stars(frame: pl.DataFrame) -> None:
    assert len(frame) == frame.select("user_id", "item_id").n_unique() == 20_000
    assert frame["user_id"].n_unique() == 500
    assert 900 < frame["item_id"].n_unique() <= 1000
    assert set(frame["rating"].unique()) == {half / 2 for half in range(1, 11)}


def test_the_largest_seed_makes_ratings_too() -> None:
    usual, large = (
        pl.concat(Synthetic(2000, 50, 400, seed=seed).parts()) for seed in (0, 2**63 - 1)
    )
    assert len(large) == 2000
    assert not large.equals(usual)


def test_tails_are_heavy(frame: pl.DataFrame) -> None:
    for column, share in (("user_id", 0.25), ("item_id", 0.15)):
        counts = frame[column].value_counts()["count"].sort(descending=True)
        assert counts[: len(counts) // 20].sum() > share * len(frame)
        assert counts.max() > 4 * counts.median()  # type: ignore[operator]


def test_the_floor_is_the_error_of_who_knows_all_but_the_noise(
    frame: pl.DataFrame, tmp_path: Path
) -> None:
    card = MADE.write(tmp_path / "made")
    expected = MADE.expected(frame["user_id"], frame["item_id"])
    error = frame["rating"].to_numpy() - expected
    assert np.sqrt(np.mean(error**2)) == pytest.approx(card["floor_rmse"], rel=0.02)
    assert abs(error.mean()) < 0.02
    assert 0.7 < card["floor_rmse"] < 0.85  # noise of 0.8, rounded and cut to the scale
    assert card["mean_rmse"] == pytest.approx(frame["rating"].std(), rel=1e-3)
    assert card["mean_rmse"] > 1.25 * card["floor_rmse"]


def test_without_noise_all_is_known_up_to_rounding() -> None:
    made = Synthetic(ratings=2000, users=50, items=400, noise=0.0)
    frame = pl.concat(made.parts())
    expected = made.expected(frame["user_id"], frame["item_id"])
    # The table of expectations is read between its entries, which matters at its jumps.
    assert np.mean(expected == frame["rating"].to_numpy()) > 0.97


def test_the_structure_has_the_rank_that_was_asked_for() -> None:
    made = Synthetic(ratings=1000, users=60, items=200, rank=2, noise=0.3)
    users, items = np.repeat(np.arange(60), 200), np.tile(np.arange(200), 60)
    truth = made._truth(users.astype(np.int32), items.astype(np.int32)).reshape(60, 200)
    # Two biases and two tastes.
    sizes = np.linalg.svd(truth, compute_uv=False)
    assert sizes[3] > 1
    assert sizes[4] < 1e-9


def test_the_same_seed_gives_the_same_set_in_any_parts(
    frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PART", 7_000)
    parts = list(MADE.parts())
    assert len(parts) == 3
    order = ["user_id", "item_id"]
    assert pl.concat(parts).sort(order).equals(frame.sort(order))
    other = pl.concat(Synthetic(20_000, 500, 1000, seed=4).parts())
    assert not other.sort(order).equals(frame.sort(order))


def test_a_folder_of_parts_is_read_as_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PART", 900)
    made = Synthetic(ratings=2000, users=50, items=400)
    card = made.write(tmp_path / "made")
    assert json.loads((tmp_path / "made" / CARD).read_text()) == card
    assert len(read_ratings(tmp_path / "made")) == 2000


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(SettingsError, match="from 10 to 250 ratings"):
        Synthetic(ratings=251, users=10, items=100)
    assert sum(map(len, Synthetic(ratings=250, users=10, items=100).parts())) == 250
