"""Searches the settings of a recipe for the lowest error on validation ratings, with Optuna.

Validation ratings are held out of the given ratings; no other data is used.
"""

from evichain.tuning.search import MOST_PARAMETERS, tune
from evichain.tuning.space import SPACES, Choices, Range, Space, search_space
from evichain.tuning.study import TuningError, check_installed
from evichain.tuning.trials import Trial, Tuned

__all__ = [
    "MOST_PARAMETERS",
    "SPACES",
    "Choices",
    "Range",
    "Space",
    "Trial",
    "Tuned",
    "TuningError",
    "check_installed",
    "search_space",
    "tune",
]
