import numpy as np
import pytest

from evichain.ratings.splits import random_split
from evichain.ratings.table import Ratings
from evichain.recommender import REC


def noisy(seed: int = 0) -> Ratings:
    """Users who agree on the whole, and of whom every other one rates at random."""
    noise = np.random.default_rng(seed)
    users, items = np.divmod(noise.permutation(120 * 60)[:4000], 60)
    wild = np.where(users % 2, 2.0, 0.3)
    values = 50 + 5 * np.sin(items) + wild * noise.normal(size=len(users))
    return Ratings.from_arrays(users, items, values)


@pytest.fixture(scope="module")
def fitted() -> tuple[REC, Ratings]:
    cut = random_split(noisy(), 0.8, 3)
    model = REC(
        iterations=400,
        validation=0.15,
        evidence_limit=32,
        embedding_size=6,
        key_size=4,
        width=8,
    )
    return model.fit(cut.train), cut.test


def test_intervals_hold_the_share_they_promise(fitted: tuple[REC, Ratings]) -> None:
    model, test = fitted
    found = model.predict(test.frame["user_id"], test.frame["item_id"])
    ratings = test.frame["rating"].to_numpy()
    for coverage, room in ((0.8, 0.05), (0.5, 0.12)):
        inside = [
            interval[0] <= rating <= interval[1]
            for prediction, rating in zip(found, ratings, strict=True)
            if (interval := prediction.interval(coverage)) is not None
        ]
        assert np.mean(inside) == pytest.approx(coverage, abs=room)


def test_who_rates_at_random_is_doubted_more(fitted: tuple[REC, Ratings]) -> None:
    model, _ = fitted
    steady, wild = (model.predict(list(range(odd, 100, 2)), 5) for odd in (0, 1))
    assert steady.stds is not None
    assert wild.stds is not None
    assert np.median(wild.stds) > 1.2 * np.median(steady.stds)


def test_of_strangers_little_is_said_with_certainty(fitted: tuple[REC, Ratings]) -> None:
    """Intervals hold their share where one end is unknown, too: the prior is trained."""
    model, test = fitted
    ratings = test.frame["rating"].to_numpy()
    for strange in (
        model.predict(["nobody"] * len(test), test.frame["item_id"].to_list()),
        model.predict(test.frame["user_id"].to_list(), ["nothing"] * len(test)),
    ):
        assert all(prediction.reason for prediction in strange)
        inside = [
            interval[0] <= rating <= interval[1]
            for prediction, rating in zip(strange, ratings, strict=True)
            if (interval := prediction.interval()) is not None
        ]
        assert np.mean(inside) > 0.7
