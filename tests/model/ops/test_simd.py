import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evichain.kernels import Floats, fast_kernel
from evichain.model.ops.simd import LANES, add_row, copy_row, dot_rows


@fast_kernel
def _copy(out: Floats, o: int, rows: Floats, i: int, size: int) -> None:
    copy_row(out, o, rows, i, size)


@fast_kernel
def _add(out: Floats, o: int, factor: float, rows: Floats, i: int, size: int) -> None:
    add_row(out, o, factor, rows, i, size)


@fast_kernel
def _dot(one: Floats, i: int, other: Floats, j: int, size: int) -> float:
    found: float = dot_rows(one, i, other, j, size)
    return found


@given(st.integers(0, 6), st.integers(0, 20), st.integers(0, 20), st.integers(0, 99))
def test_rows_at_any_place(blocks: int, i: int, o: int, seed: int) -> None:
    size = blocks * LANES
    rng = np.random.default_rng(seed)
    rows, out = rng.normal(size=(2, 80)).astype(np.float32)
    before = out.copy()
    np.testing.assert_allclose(
        _dot(rows, i, out, o, size), rows[i : i + size] @ out[o : o + size], rtol=1e-4, atol=1e-5
    )
    _add(out, o, 2.0, rows, i, size)
    expected = before.copy()
    expected[o : o + size] += 2 * rows[i : i + size]
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    _copy(out, o, rows, i, size)
    expected[o : o + size] = rows[i : i + size]
    np.testing.assert_allclose(out, expected, rtol=1e-6)
