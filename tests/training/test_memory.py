import sys

from evichain.training.memory import keep_freed_memory


def test_asking_twice_is_no_trouble() -> None:
    assert keep_freed_memory() == keep_freed_memory()
    if not sys.platform.startswith("linux"):
        assert not keep_freed_memory()
