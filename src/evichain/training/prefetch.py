"""Computes the next element on a second thread while the current one is used."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TypeVar

Element = TypeVar("Element")


def prefetched(make: Callable[[int], Element], numbers: range) -> Iterator[Element]:
    """`make(n)` for each number, in order, one ahead of the consumer on a second thread.

    >>> list(prefetched(lambda n: n * n, range(4)))
    [0, 1, 4, 9]
    """
    with ThreadPoolExecutor(1, thread_name_prefix="evichain-ahead") as thread:
        pending = [thread.submit(make, n) for n in numbers[:1]]
        for following in chain(numbers[1:], [None]):
            if not pending:
                return
            ready = pending.pop().result()
            if following is not None:
                pending.append(thread.submit(make, following))
            yield ready
