"""PRank: thresholds stay ordered, and passes are those of the paper's algorithm."""

import numpy as np
import pytest

from evichain import Ratings
from evichain.baselines.prank import PRank, one_pass
from evichain.testing import planted_blocks

USERS, ITEMS, LEVELS = 6, 9, 4


def one_pass_by_loops(
    shown: list[list[tuple[int, int]]], features: "np.ndarray", weights: "np.ndarray"
) -> "np.ndarray":
    """The algorithm of the paper for each user; weights are changed, thresholds returned."""
    bounds = np.zeros((USERS, LEVELS - 1))
    for user, ratings in enumerate(shown):
        for item, y in ratings:
            x = features[item].copy()
            x[user] = 0
            product = weights[user] @ x
            below = [r for r in range(LEVELS - 1) if product - bounds[user, r] < 0]
            predicted = below[0] if below else LEVELS - 1
            if predicted == y:
                continue
            signs = np.array([1 if y > r else -1 for r in range(LEVELS - 1)])
            tau = np.where(signs * (product - bounds[user]) <= 0, signs, 0)
            weights[user] += tau.sum() * x
            bounds[user] -= tau
    return bounds


def test_a_pass_is_the_algorithm_of_the_paper() -> None:
    draws = np.random.default_rng(0)
    levels = draws.integers(-1, LEVELS, size=(USERS, ITEMS))
    features = np.where(levels.T >= 0, levels.T / (LEVELS - 1) - 0.5, 0.0)
    shown = [
        [(int(i), int(levels[u, i])) for i in draws.permutation(ITEMS) if levels[u, i] >= 0]
        for u in range(USERS)
    ]
    wanted = np.zeros((USERS, USERS))
    bounds = one_pass_by_loops(shown, features, wanted)

    ptr = np.cumsum([0, *map(len, shown)]).astype(np.int64)
    items = np.array([item for one in shown for item, _ in one], np.int32)
    codes = np.array([level for one in shown for _, level in one], np.int64)
    rated_items, voters = (part.astype(np.int32) for part in np.nonzero(levels.T >= 0))
    vote_ptr = np.searchsorted(rated_items, np.arange(ITEMS + 1)).astype(np.int64)
    votes = features[rated_items, voters].astype(np.float32)
    weights = np.zeros((USERS, USERS), np.float32)
    thresholds = np.zeros((USERS, LEVELS - 1), np.float32)
    slots = np.arange(USERS, dtype=np.int32)
    one_pass(ptr, items, codes, slots, vote_ptr, voters, votes, weights, thresholds)
    assert np.allclose(weights, wanted, atol=1e-6)
    assert np.array_equal(thresholds, bounds)
    assert (np.diff(thresholds, axis=1) >= 0).all()
    assert (np.diag(weights) == 0).all()


def test_estimates_are_levels_and_lists_are_finer() -> None:
    model = PRank(epochs=3).fit(planted_blocks(noise=0.1))
    estimates = model.predict([0] * 40, list(range(40))).estimates
    assert set(estimates.tolist()) <= {1.0, 5.0}
    listed = [entry.item for entry in model.recommend(0, n=40, exclude_seen=False)]
    assert listed != sorted(listed, key=lambda item: (-estimates[int(item)], int(item)))


def test_only_so_many_users_are_features() -> None:
    model = PRank(voters=7).fit(planted_blocks())
    assert model.parameter_count == 60 * 7 + 60 * 1


def test_a_single_level_needs_no_threshold() -> None:
    model = PRank().fit(Ratings.from_arrays([1, 2], [1, 1], [3.0, 3.0]))
    assert model.predict(2, 1).estimate == pytest.approx(3.0)
