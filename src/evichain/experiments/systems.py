"""The systems that are compared: our two recipes and every baseline, made the same way."""

from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from pydantic import BaseModel

from evichain.baselines import BASELINES, baseline_class, make_baseline
from evichain.experiments.sources import WAYS, Source
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
"""How little a system learns in a quick run, as far as it knows the settings."""

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
"""What people call systems, where that is not their name here."""

IN_BRACKETS = (
    "In brackets: with estimates cut to the scale of the training ratings, where that differs. The "
    "recipe `paper` does not cut them, as the paper does not; all others do."
)
"""Said of tables that have both errors."""


class System(Recommender, Protocol):
    """A recommender that says what it was told and how large it is."""

    @property
    def settings(self) -> BaseModel | Settings:
        """All settings, those that were not given too."""
        ...

    @property
    def parameter_count(self) -> int:
        """How many numbers were learned."""
        ...


@runtime_checkable
class Growing(Recommender, Protocol):
    """A recommender that takes in ratings after training."""

    def add(self, ratings: Any) -> Self:
        """Take in new ratings, users and items; nothing is retrained."""
        ...


def check_system(system: str) -> None:
    """Complain if something that a system learns with is not installed."""
    if system not in RECIPES:
        baseline_class(system).check_installed()


def make_system(system: str, source: Source, seed: int) -> System:
    """A system, ready to learn: `paper` with the paper's settings for such data, others too."""
    return _made(system, _told(system, source, seed))


def _told(system: str, source: Source, seed: int) -> dict[str, Any]:
    told: dict[str, Any] = {"seed": seed}
    if system == "paper":
        told |= source.way.standard
    elif system in BASELINES:
        told |= suited(system, source)
    if source.quick:
        known = _made(system, {}).settings.model_dump()
        # Where nothing is pretrained, nothing can be.
        told |= {name: value for name, value in QUICK.items() if known.get(name)}
    return told


def suited(system: str, source: Source) -> Mapping[str, Any]:
    """What a baseline is told for such data; for larger data than it knows, as for the largest.

    >>> suited("pmf", Source("ml-10m")), suited("pmf", Source("ml-100k"))
    ({'iterations': 8000}, {})
    """
    sizes = list(WAYS)
    known = BASELINES[system].settings
    nearest = [name for name in sizes[: sizes.index(source.like) + 1] if name in known]
    return known[nearest[-1]] if nearest else {}


def settings_of(system: str, source: Source, seed: int) -> dict[str, Any]:
    """All that a system is told, to know its results by.

    Settings that follow the number of ratings are as for all of the source's; what a part of them
    was learned with, a cell tells when it is measured.
    """
    told = _told(system, source, seed)
    if system in RECIPES:
        return settings_for(system, ratings=len(source.ratings()), **told).model_dump()
    return _made(system, told).settings.model_dump()


def mean_rmse(train: Ratings, test: Ratings) -> float:
    """The error of guessing the mean of what was learned from.

    >>> train, test = (Ratings.from_arrays([0, 1], [0, 1], rated) for rated in ([2, 4], [1, 5]))
    >>> mean_rmse(train, test)
    2.0
    """
    wrong = test.frame["rating"].to_numpy().astype(np.float64) - train.mean
    return float(np.sqrt(np.mean(np.square(wrong))))


def scale_of(train: Ratings) -> Scale:
    """The scale of what was learned from.

    >>> scale_of(Ratings.from_arrays([0, 1], [0, 1], [2, 4])).low
    2.0
    """
    return Scale.of(train.frame["rating"].to_numpy())


def _made(system: str, settings: Mapping[str, Any]) -> System:
    if system in RECIPES:
        return REC(system, **settings)
    return make_baseline(system, **settings)
