"""Immutable arrays whose versions share unchanged pages (copy on write).

A reader keeps a version as long as it likes; the writer makes the next one by copying only the
pages that change. So nobody waits, and nobody sees a partial change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

PAGE = 4096
"""Rows per page: few enough to copy a page at each write, enough that most catalogues need few."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PagedArray:
    """An immutable array of `length` rows, kept in pages.

    >>> old = PagedArray.of(np.arange(3))
    >>> new = old.grown(5).changed(np.array([1, 4]), np.array([7, 9]))
    >>> old.whole().tolist(), new.whole().tolist()
    ([0, 1, 2], [0, 7, 2, 0, 9])
    """

    pages: Sequence[Array]
    length: int

    @classmethod
    def of(cls, array: Array) -> "PagedArray":
        """The pages of an array; they are its own memory as long as nothing changes."""
        if not len(array):
            return cls((_blank(array),), 0)
        pages = [array[start : start + PAGE] for start in range(0, len(array), PAGE)]
        pages[-1] = _filled(pages[-1])
        return cls(tuple(pages), len(array))

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.pages[index // PAGE][index % PAGE]

    def take(self, indices: Array) -> Array:
        """The rows at some indices."""
        first = self.pages[0]
        # Nothing at all would split into one part rather than none.
        if len(self.pages) == 1 or not len(indices):
            return first[indices]
        out = np.empty((len(indices), *first.shape[1:]), first.dtype)
        numbers = indices // PAGE
        order = np.argsort(numbers, kind="stable")
        held, starts = np.unique(numbers[order], return_index=True)
        for page, positions in zip(held.tolist(), np.split(order, starts[1:]), strict=True):
            out[positions] = self.pages[page][indices[positions] - page * PAGE]
        return out

    def whole(self) -> Array:
        """All rows in one array."""
        return np.concatenate(self.pages)[: self.length]

    def grown(self, length: int) -> "PagedArray":
        """The next version, with zeros at its end."""
        missing = -(-length // PAGE) - len(self.pages)
        return PagedArray((*self.pages, *(_blank(self.pages[0]) for _ in range(missing))), length)

    def changed(self, indices: Array, rows: Array) -> "PagedArray":
        """The next version, with other rows at distinct indices."""
        pages, numbers = list(self.pages), indices // PAGE
        for page in np.unique(numbers).tolist():
            here = numbers == page
            pages[page] = pages[page].copy()
            pages[page][indices[here] - page * PAGE] = rows[here]
        return PagedArray(tuple(pages), self.length)


def _blank(like: Array) -> Array:
    """An empty page of the same kind; objects are None."""
    blank = np.zeros((PAGE, *like.shape[1:]), like.dtype)
    if like.dtype == object:
        blank[:] = None
    return blank


def _filled(page: Array) -> Array:
    """A whole page that begins with these rows."""
    whole = _blank(page)
    whole[: len(page)] = page
    return whole
