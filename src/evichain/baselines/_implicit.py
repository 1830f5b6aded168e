"""What the baselines that implicit provides share: the optional import and its threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from evichain.baselines._lists import ListBaseline, ListSettings
from evichain.errors import require

Chosen = TypeVar("Chosen", bound=ListSettings)


class ImplicitBaseline(ListBaseline[Chosen]):
    """A baseline that implicit trains."""

    @classmethod
    def check_installed(cls) -> None:
        """Raise an error if implicit is not installed."""
        for module in ("implicit", "scipy", "threadpoolctl"):
            require(module, f"{cls.__name__} needs {module}", "bench")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Implicit has threads of its own, and refuses to work beside a BLAS that has some too."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        yield
