"""How far off the latest ratings were, judged before anything was learned from them."""

from collections import deque

import numpy as np

KEPT = 1000


class Recent:
    """The errors on the last ratings that came in."""

    def __init__(self, kept: int = KEPT) -> None:
        self._squares: deque[float] = deque(maxlen=kept)

    def note(self, error: float) -> None:
        """Note how far an estimate was from the rating that then came."""
        self._squares.append(error * error)

    @property
    def count(self) -> int:
        return len(self._squares)

    @property
    def rmse(self) -> float | None:
        """The root of the mean squared error; None before any rating came."""
        squares = list(self._squares)
        return float(np.sqrt(np.mean(squares))) if squares else None
