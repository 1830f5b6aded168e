"""Pages hold what an array would."""

import numpy as np
import pytest

from evichain.service.live.pages import PAGE, Pages


@pytest.mark.parametrize("length", [0, 1, PAGE, PAGE + 1, 3 * PAGE])
def test_takes_what_an_array_would(length: int) -> None:
    array = np.arange(2 * length).reshape(length, 2)
    pages = Pages.of(array)
    for indices in (np.arange(0), np.arange(length), np.arange(length)[::-3]):
        np.testing.assert_array_equal(pages.take(indices), array[indices])
