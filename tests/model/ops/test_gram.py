import numpy as np
import pytest

from evichain.model.ops.gram import add_moments, add_products


@pytest.mark.parametrize(("size", "count"), [(8, 1), (16, 5), (40, 0), (56, 128), (64, 3)])
def test_products_and_moments(size: int, count: int) -> None:
    rng = np.random.default_rng(0)
    panel = rng.normal(size=(128, size)).astype(np.float32)
    weights = rng.normal(size=(128, 2)).astype(np.float32)
    matrix, moments = np.eye(size, dtype=np.float32), np.ones((2, size), np.float32)
    add_products(panel, count, matrix)
    add_moments(weights, panel, count, moments)
    product = panel[:count].T @ panel[:count] + np.eye(size, dtype=np.float32)
    np.testing.assert_allclose(np.triu(matrix), np.triu(product), rtol=1e-5, atol=1e-4)
    weighted = weights[:count].T @ panel[:count] + 1
    np.testing.assert_allclose(moments, weighted, rtol=1e-5, atol=1e-4)


def test_a_matrix_grows_by_what_is_added_twice() -> None:
    panel = np.ones((4, 8), np.float32)
    matrix = np.zeros((8, 8), np.float32)
    add_products(panel, 4, matrix)
    add_products(panel, 2, matrix)
    assert np.array_equal(np.triu(matrix), np.triu(np.full((8, 8), 6.0)))
