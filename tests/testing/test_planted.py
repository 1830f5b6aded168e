"""The planted blocks are what they say."""

import numpy as np
import pytest

from evichain.testing import planted_blocks, planted_rating


@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_every_rating_is_the_planted_one(blocks: int, density: float) -> None:
    frame = planted_blocks(31, 17, blocks, density).frame
    truth = planted_rating(frame["user_id"].to_numpy(), frame["item_id"].to_numpy(), blocks)
    assert frame["rating"].to_list() == truth.tolist()
    assert frame["user_id"].n_unique() == 31
    assert frame["item_id"].n_unique() == 17


def test_density_and_noise_are_as_asked_for() -> None:
    ratings = planted_blocks(200, 100, density=0.4, noise=0.1)
    frame = ratings.frame
    assert len(ratings) == pytest.approx(200 * 100 * 0.4, rel=0.05)
    truth = planted_rating(frame["user_id"].to_numpy(), frame["item_id"].to_numpy())
    assert np.mean(frame["rating"].to_numpy() != truth) == pytest.approx(0.1, abs=0.02)


def test_seed_decides() -> None:
    assert planted_blocks(seed=3).frame.equals(planted_blocks(seed=3).frame)
    assert not planted_blocks(seed=3).frame.equals(planted_blocks(seed=4).frame)


def test_means_give_nothing_away() -> None:
    frame = planted_blocks(density=1.0).frame
    for column in ("user_id", "item_id"):
        assert frame.group_by(column).mean()["rating"].n_unique() == 1
