import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evichain.training.batches import batch_positions


@given(st.integers(1, 300), st.integers(1, 50), st.integers(0, 2**62))
def test_each_pass_takes_every_rating_once(count: int, size: int, seed: int) -> None:
    size = min(size, count)
    steps = [batch_positions(count, size, seed, step) for step in range(count)]
    times = np.bincount(np.concatenate(steps), minlength=count)
    assert (times == size).all()


def test_passes_and_seeds_differ() -> None:
    first = batch_positions(1000, 1000, 1, 0).tolist()
    assert first != batch_positions(1000, 1000, 1, 1).tolist()
    assert first != batch_positions(1000, 1000, 2, 0).tolist()
    assert first == batch_positions(1000, 1000, 1, 0).tolist()
