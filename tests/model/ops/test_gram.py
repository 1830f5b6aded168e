import numpy as np
import pytest

from evichain.model.ops.gram import add_products, factorize, padded


@pytest.mark.parametrize(("size", "count"), [(8, 1), (16, 5), (56, 128)])
def test_products_and_factors(size: int, count: int) -> None:
    panel = np.random.default_rng(0).normal(size=(128, size)).astype(np.float32)
    theirs = panel[:count].T @ panel[:count] + np.eye(size, dtype=np.float32)
    matrix = np.eye(size, dtype=np.float32)
    add_products(panel, count, matrix)
    np.testing.assert_allclose(np.triu(matrix), np.triu(theirs), rtol=1e-5, atol=1e-4)
    factorize(matrix)
    factor = np.triu(matrix)
    np.testing.assert_allclose(factor.T @ factor, theirs, rtol=1e-4, atol=1e-4)


def test_a_matrix_grows_by_what_is_added_twice() -> None:
    panel = np.ones((4, padded(3)), np.float32)
    matrix = np.zeros((8, 8), np.float32)
    add_products(panel, 4, matrix)
    add_products(panel, 2, matrix)
    assert np.array_equal(np.triu(matrix), np.triu(np.full((8, 8), 6.0)))
