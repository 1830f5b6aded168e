import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evichain.training.batches import batch_positions


@given(st.integers(1, 300), st.integers(1, 50), st.integers(1, 9), st.integers(0, 2**62))
def test_each_pass_takes_every_rating_once(
    count: int, size: int, ratings_per_user: int, seed: int
) -> None:
    run = min(ratings_per_user, size, count)
    runs, some = -(-count // run), min(size, count) // run
    steps = [batch_positions(count, size, seed, step, ratings_per_user) for step in range(runs)]
    times = np.bincount(np.concatenate(steps), minlength=count)
    assert (times == some).all()
    for step in steps:
        firsts = step[step % run == 0]
        assert set(step.tolist()) == {f + k for f in firsts.tolist() for k in range(run)} & {
            *range(count)
        }


def test_passes_and_seeds_differ() -> None:
    first = batch_positions(1000, 1000, 1, 0).tolist()
    assert first != batch_positions(1000, 1000, 1, 1).tolist()
    assert first != batch_positions(1000, 1000, 2, 0).tolist()
    assert first == batch_positions(1000, 1000, 1, 0).tolist()
