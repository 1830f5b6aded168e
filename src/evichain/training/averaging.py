"""The running average of weights."""


def decay_at(averaging: float, step: int) -> float:
    """How much of the average so far a step keeps.

    The first steps keep little: an average over few is no better than its last.

    >>> [round(decay_at(0.98, step), 3) for step in (0, 10, 1000)]
    [0.1, 0.55, 0.98]
    """
    return min(averaging, (step + 1) / (step + 10))
