"""The systems that are compared: our recipes and every baseline, made the same way."""

from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from pydantic import BaseModel

from evichain.baselines import BASELINES, baseline_class, make_baseline
from evichain.evaluation.prediction_errors import root_mean_square
from evichain.experiments.sources import PAPER_SETTINGS, Source
from evichain.protocol import Recommender
from evichain.ratings.scale import Scale
from evichain.ratings.table import Ratings
from evichain.recipes import RECIPES, Settings, settings_for
from evichain.recommender import REC

QUICK: Mapping[str, Any] = {
    "iterations": 20,
    "epochs": 2,
    "passes": 1,
    "pretrain_iterations": 50,
    "refit": False,
}
"""Settings that shorten training in a quick run; each system takes those that it has."""

NAMES = {
    "paper": "REC, recipe `paper`",
    "plus": "REC, recipe `plus`",
    "pmf": "PMF",
    "nnmf": "NNMF",
    "biased-mf": "Biased-MF",
    "cf-nade": "CF-NADE",
    "svd++": "SVD++",
    "item-knn": "item kNN",
    "gc-mc": "GC-MC",
    "ncf": "NCF",
    "rbm": "RBM-CF",
    "prank": "PRank",
    "online-mf": "online MF",
    "mean": "guessing the mean",
}
"""Display names, where they differ from the names here."""

IN_BRACKETS = (
    "In brackets: with estimates clipped to the scale of the training ratings, where that differs. "
    "The recipe `paper` does not clip them, as the paper does not; all others do."
)
"""The remark below tables that have both errors."""


class System(Recommender, Protocol):
    """A recommender that reports its settings and its size."""

    @property
    def settings(self) -> BaseModel | Settings:
        """All settings, defaults included."""
        ...

    @property
    def parameter_count(self) -> int:
        """The number of learned parameters."""
        ...


@runtime_checkable
class Growing(Recommender, Protocol):
    """A recommender that accepts ratings after training."""

    def add(self, ratings: Any) -> Self:
        """Add ratings, users and items without retraining."""
        ...


def check_system(system: str) -> None:
    """Raise if a library that a system needs is not installed."""
    if system not in RECIPES:
        baseline_class(system).check_installed()


def make_system(system: str, source: Source, seed: int) -> System:
    """An untrained system, with the settings for data of this size."""
    return _made(system, _given(system, source, seed))


def _given(system: str, source: Source, seed: int) -> dict[str, Any]:
    given: dict[str, Any] = {"seed": seed}
    if system == "paper":
        given |= source.paper_settings.standard
    elif system in BASELINES:
        given |= suited(system, source)
    if source.quick:
        known = _made(system, {}).settings.model_dump()
        # A system without pretraining has no such setting.
        given |= {name: value for name, value in QUICK.items() if known.get(name)}
    return given


def suited(system: str, source: Source) -> Mapping[str, Any]:
    """A baseline's settings for data of this size, or for the largest size it has settings for.

    >>> suited("pmf", Source("ml-10m")), suited("pmf", Source("ml-100k"))
    ({'iterations': 8000}, {})
    """
    sizes = list(PAPER_SETTINGS)
    known = BASELINES[system].settings
    nearest = [
        name for name in sizes[: sizes.index(source.nearest_paper_name) + 1] if name in known
    ]
    return known[nearest[-1]] if nearest else {}


def settings_of(system: str, source: Source, seed: int) -> dict[str, Any]:
    """All settings of a system, which identify its results.

    Settings that depend on the number of ratings are those for the whole source; a cell that
    trains on a part of it records the settings it used.
    """
    given = _given(system, source, seed)
    if system in RECIPES:
        return settings_for(system, ratings=len(source.ratings()), **given).model_dump()
    return _made(system, given).settings.model_dump()


def mean_rmse(train: Ratings, test: Ratings) -> float:
    """The error of predicting the training mean.

    >>> train, test = (Ratings.from_arrays([0, 1], [0, 1], rated) for rated in ([2, 4], [1, 5]))
    >>> mean_rmse(train, test)
    2.0
    """
    return root_mean_square(test.frame["rating"].to_numpy().astype(np.float64) - train.mean)


def scale_of(train: Ratings) -> Scale:
    """The scale of the training ratings.

    >>> scale_of(Ratings.from_arrays([0, 1], [0, 1], [2, 4])).low
    2.0
    """
    return Scale.of(train.frame["rating"].to_numpy())


def _made(system: str, settings: Mapping[str, Any]) -> System:
    if system in RECIPES:
        return REC(system, **settings)
    return make_baseline(system, **settings)
