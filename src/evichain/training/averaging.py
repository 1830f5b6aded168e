"""The running average of weights."""


def decay_at(averaging: float, step: int) -> float:
    """The decay of the running average at a step: how much of the average so far is kept.

    It starts low, so that the average soon forgets the initial weights.

    >>> [round(decay_at(0.98, step), 3) for step in (0, 10, 1000)]
    [0.1, 0.55, 0.98]
    """
    return min(averaging, (step + 1) / (step + 10))
