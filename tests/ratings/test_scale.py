import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evichain.ratings.scale import MAX_LEVELS, Scale

halves = st.lists(st.integers(1, 10).map(lambda n: n / 2), min_size=1)


@given(halves, halves)
def test_levels_come_back_and_widen(first: list[float], second: list[float]) -> None:
    old, new = np.array(first, np.float32), np.array(second, np.float32)
    scale = Scale.of(old)
    assert scale.encode(old).dtype == np.uint8
    assert scale.decode(scale.encode(old)).tolist() == first
    wider = scale.widened(new)
    assert wider.decode(wider.encode(new)).tolist() == second
    assert (wider.low, wider.high) == (min(first + second), max(first + second))


@pytest.mark.parametrize("count", [MAX_LEVELS, MAX_LEVELS + 1])
def test_too_many_levels_are_a_continuum(count: int) -> None:
    ratings = np.arange(count, dtype=np.float32)
    scale = Scale.of(ratings)
    assert scale.levelled == (count <= MAX_LEVELS)
    assert scale.decode(scale.encode(ratings)).tolist() == ratings.tolist()
    assert not Scale.of(ratings[:MAX_LEVELS]).widened(ratings + 0.5).levelled
