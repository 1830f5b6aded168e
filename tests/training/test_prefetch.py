import threading
import time

import pytest

from evichain.training.prefetch import prefetched


def test_the_next_is_made_while_the_current_is_used() -> None:
    made: list[int] = []
    second = threading.Event()

    def make(n: int) -> int:
        made.append(n)
        if n == 1:
            second.set()
        return n

    things = prefetched(make, range(5))
    assert next(things) == 0
    assert second.wait(timeout=30)
    assert list(things) == [1, 2, 3, 4]
    assert made == [0, 1, 2, 3, 4]


def test_errors_come_out_and_an_early_end_is_clean() -> None:
    def make(n: int) -> int:
        if n == 2:
            raise ValueError("two")
        time.sleep(0)
        return n

    with pytest.raises(ValueError, match="two"):
        list(prefetched(make, range(5)))
    for thing in prefetched(lambda n: n, range(100)):
        if thing == 3:
            break
    assert list(prefetched(lambda n: n, range(0))) == []
