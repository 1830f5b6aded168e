"""Versions of an array: each stays as it was."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evichain.service.live.paged_array import PAGE, PagedArray

edits = st.dictionaries(st.integers(0, 3 * PAGE), st.integers(-9, 9), max_size=8)


@given(st.integers(0, 2 * PAGE + 3), st.lists(edits, max_size=5))
def test_versions_are_arrays_of_their_own(length: int, changes: list[dict[int, int]]) -> None:
    array = np.arange(length)
    versions, expected = [PagedArray.of(array)], [array.copy()]
    for change in changes:
        whole = expected[-1].copy()
        needed = max([len(whole), *(index + 1 for index in change)])
        whole = np.pad(whole, (0, needed - len(whole)))
        whole[list(change)] = list(change.values())
        indices, rows = np.array(list(change), int), np.array(list(change.values()), int)
        versions.append(versions[-1].grown(needed).changed(indices, rows))
        expected.append(whole)
    for version, whole in zip(versions, expected, strict=True):
        np.testing.assert_array_equal(version.whole(), whole)
        wanted = np.arange(len(whole))[::-3]
        np.testing.assert_array_equal(version.take(wanted), whole[wanted])
        assert len(version) == len(whole)
        assert all(version[i] == whole[i] for i in wanted[:5].tolist())
