import numpy as np
import pytest

from evichain.model.ops.cholesky import factor_size, factorize, solve_packed


@pytest.mark.parametrize("size", [8, 16, 56, 64])
def test_solutions_with_a_packed_factor(size: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2 * size, size)).astype(np.float32)
    matrix = rows.T @ rows + np.eye(size, dtype=np.float32)
    right = rng.normal(size=size).astype(np.float32)
    theirs = np.linalg.solve(matrix.astype(np.float64), right)
    packed, ours = np.empty(factor_size(size), np.float32), right.copy()
    lower = np.tril_indices(size, -1)
    matrix[lower] = np.nan  # which is not looked at
    factorize(matrix, np.ones(size, np.float32), packed)
    solve_packed(packed, ours)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_a_matrix_that_rounding_made_negative_has_a_solution() -> None:
    matrix, least = np.eye(8, dtype=np.float32), np.full(8, 0.01, np.float32)
    matrix[0, 0] = matrix[1, 1] = 1.01
    matrix[0, 1] = 1.02
    packed, out = np.empty(factor_size(8), np.float32), np.ones(8, np.float32)
    factorize(matrix, least, packed)
    solve_packed(packed, out)
    assert np.abs(out).max() < 10
