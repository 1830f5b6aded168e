"""evichain: a recommender whose size does not grow with its users.

>>> import evichain
>>> model = evichain.REC(iterations=20)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0.dev0"

if TYPE_CHECKING:
    from evichain.errors import EvichainError as EvichainError
    from evichain.ratings import Ratings as Ratings
    from evichain.ratings import load_ratings as load_ratings
    from evichain.ratings import load_split as load_split
    from evichain.ratings import read_ratings as read_ratings
    from evichain.recommender import REC as REC

_HOMES = {
    "REC": "evichain.recommender",
    "EvichainError": "evichain.errors",
    "Ratings": "evichain.ratings",
    "load_ratings": "evichain.ratings",
    "load_split": "evichain.ratings",
    "read_ratings": "evichain.ratings",
}
__all__ = ["REC", "EvichainError", "Ratings", "load_ratings", "load_split", "read_ratings"]


def __getattr__(name: str) -> Any:
    """Import what is asked for on first use: the command line must not wait for PyTorch."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
