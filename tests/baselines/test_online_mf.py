"""Online factorization: each rating moves its user and its item, as the equations say."""

import numpy as np
import pytest
from tests.baselines.small import small

from evichain import Ratings
from evichain.baselines.online_mf import OnlineMF, stream_order, update_vectors
from evichain.testing import planted_blocks


def test_a_rating_moves_its_user_and_its_item_only() -> None:
    draws = np.random.default_rng(0)
    left, right = (draws.normal(size=(3, 5)).astype(np.float32) for _ in range(2))
    before = left.copy(), right.copy()
    rate, decay, mean = np.float32(0.1), np.float32(0.3), np.float32(2.0)
    pair = np.array([1], np.int32), np.array([2], np.int32), np.array([4.5], np.float32)
    update_vectors(*pair, mean, rate, decay, left, right)
    p, q = before[0][1].astype(np.float64), before[1][2].astype(np.float64)
    error = 4.5 - (2.0 + p[4] + q[4] + p[:4] @ q[:4])
    assert np.allclose(left[1, :4], p[:4] + 0.1 * (error * q[:4] - 0.3 * p[:4]), atol=1e-5)
    assert np.allclose(right[2, :4], q[:4] + 0.1 * (error * p[:4] - 0.3 * q[:4]), atol=1e-5)
    assert np.isclose(left[1, 4], p[4] + 0.1 * (error - 0.3 * p[4]), atol=1e-5)
    assert np.isclose(right[2, 4], q[4] + 0.1 * (error - 0.3 * q[4]), atol=1e-5)
    assert np.array_equal(left[[0, 2]], before[0][[0, 2]])
    assert np.array_equal(right[:2], before[1][:2])


def test_what_is_added_leaves_everyone_else_as_they_were() -> None:
    model = small("online-mf")().fit(planted_blocks())
    assert isinstance(model, OnlineMF)
    before = model.predict([5] * 3, [7, 8, 9]).estimates
    model.add(Ratings.from_arrays([999], [0], [5.0]))
    assert np.array_equal(model.predict([5] * 3, [7, 8, 9]).estimates, before)
    assert model.predict(999, 0).reason is None


def test_an_addition_is_refused_before_fit_and_nothing_is_no_change() -> None:
    from evichain.errors import NotFittedError

    with pytest.raises(NotFittedError):
        OnlineMF().add(Ratings.from_arrays([1], [1], [1.0]))
    model = OnlineMF(passes=1).fit(planted_blocks())
    before = model.predict(0, 0)
    assert model.add(planted_blocks().take(np.zeros(0, np.int64))).predict(0, 0) == before


def test_the_order_of_the_stream_hangs_on_ids_and_seed() -> None:
    draws = np.random.default_rng(0)
    keys = draws.integers(2**63, size=50).astype(np.uint64)
    users, items = (draws.integers(50, size=200).astype(np.int32) for _ in range(2))
    order = stream_order(users, items, keys, keys, 0)
    other = draws.permutation(200)
    again = stream_order(users[other], items[other], keys, keys, 0)
    assert np.array_equal(users[order], users[other][again])
    assert np.array_equal(items[order], items[other][again])
    assert not np.array_equal(order, stream_order(users, items, keys, keys, 1))
