"""Append-only arrays and ids: readers see what was there when they looked."""

from typing import Any

import numpy as np
import numpy.typing as npt

from evichain.evidence.pool import Pool
from evichain.kernels import Ints, Keys
from evichain.ratings.ids import UNKNOWN, Id, stable_key
from evichain.ratings.side import Side


class GrowingArray:
    """A one-dimensional array that can grow at its end.

    >>> array = GrowingArray(np.array([3, 4]))
    >>> array.append(5)
    >>> array.view.tolist()
    [3, 4, 5]
    """

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._room = np.array(values)
        self._length = len(values)

    def append(self, value: Any) -> None:
        """Add a value; earlier views stay valid."""
        if self._length == len(self._room):
            room = np.empty(max(16, 2 * self._length), self._room.dtype)
            room[: self._length] = self._room
            self._room = room
        self._room[self._length] = value
        self._length += 1

    @property
    def view(self) -> npt.NDArray[Any]:
        """All values so far; only the one writer may change them."""
        return self._room[: self._length]


class IdIndex:
    """The known entities of one side: ids, keys and prototype slots by index.

    Ids are compared as text: 7 and "7" are the same.
    """

    def __init__(self, pool: Pool, side: Side) -> None:
        ids = pool.graph.ids[side]
        self._ids: list[Id] = ids.values.to_list()
        self._index = {str(identifier): index for index, identifier in enumerate(self._ids)}
        self._number = {str(identifier): n for n, identifier in enumerate(pool.ids[side])}
        self._keys = GrowingArray(ids.keys)
        self._slot = GrowingArray(pool.sides[side].slot)

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: int) -> Id:
        return self._ids[index]

    def index(self, identifier: object) -> int:
        """The index of an id; UNKNOWN if it is new."""
        return self._index.get(str(identifier), UNKNOWN)

    def meet(self, identifier: Id) -> int:
        """The index of an id; a new id is added."""
        found = self.index(identifier)
        if found != UNKNOWN:
            return found
        self._keys.append(stable_key(identifier))
        self._slot.append(self._number.get(str(identifier), -1))
        self._ids.append(identifier)
        self._index[str(identifier)] = len(self._ids) - 1
        return len(self._ids) - 1

    @property
    def keys(self) -> Keys:
        return self._keys.view

    @property
    def slot(self) -> Ints:
        return self._slot.view
