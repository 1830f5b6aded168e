"""The recommenders that the paper compares with or names, behind one protocol.

>>> from evichain.testing import planted_blocks
>>> model = make_baseline("online-mf", seed=1).fit(planted_blocks())
>>> round(model.predict(0, 2).estimate)
5
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evichain.errors import SettingsError

if TYPE_CHECKING:
    from evichain.baselines._base import Baseline


@dataclass(frozen=True)
class Entry:
    """Where a baseline is, what it is in a line, how well it is known to do, and told what.

    Attributes:
        published: test RMSE by data set and split, as the literature has it.
        settings: what it is told by data set, where the defaults are not for that.
    """

    module: str
    name: str
    about: str
    published: Mapping[tuple[str, str], float] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def load(self) -> "type[Baseline[Any]]":
        """The class, imported on first use: most need PyTorch."""
        found: type[Baseline[Any]] = getattr(
            import_module(f"evichain.baselines.{self.module}"), self.name
        )
        return found


_100K, _1M, _U1 = ("ml-100k", "random:0.9"), ("ml-1m", "random:0.9"), ("ml-100k", "u1")

BASELINES: Mapping[str, Entry] = {
    "pmf": Entry(
        "pmf",
        "PMF",
        "the chain with everyone a prototype",
        {_100K: 0.952, _1M: 0.883},
        {"ml-1m": {"iterations": 8000}},
    ),
    "rowless": Entry("rowless", "Rowless", "the chain with every item a prototype"),
    "columnless": Entry("columnless", "Columnless", "the chain with every user a prototype"),
    "biased-mf": Entry(
        "biased_mf",
        "BiasedMF",
        "factorization with biases",
        {_100K: 0.911, _1M: 0.852},
        {"ml-1m": {"factors": 50, "epochs": 40, "regularization": 0.05}},
    ),
    "svd++": Entry("svdpp", "SVDpp", "factorization with biases and what was rated at all"),
    "item-knn": Entry("item_knn", "ItemKNN", "neighbours among items, about baselines"),
    "nnmf": Entry(
        "nnmf",
        "NNMF",
        "a network in place of the inner product",
        {_100K: 0.903, _1M: 0.843},
        {"ml-1m": {"batch_size": 4096}},
    ),
    "ncf": Entry("ncf", "NCF", "a factorization and a network, fused; for ratings"),
    "cf-nade": Entry(
        "cf_nade",
        "CFNADE",
        "ratings predicted from those before them",
        {_1M: 0.829},
        {"ml-1m": {"epochs": 100, "learning_rate": 2e-3, "validate_every": 4}},
    ),
    "gc-mc": Entry("gc_mc", "GCMC", "a graph convolution over ratings", {_U1: 0.910, _1M: 0.832}),
    "rbm": Entry("rbm", "RBM", "a Boltzmann machine over ratings"),
    "prank": Entry("prank", "PRank", "a perceptron with thresholds for each user"),
    "online-mf": Entry("online_mf", "OnlineMF", "factorization of a stream of ratings"),
}
"""Every baseline, by the name it is asked for."""


def baseline_class(name: str) -> "type[Baseline[Any]]":
    """The class of a baseline, by name.

    >>> baseline_class("svd")
    Traceback (most recent call last):
        ...
    evichain.errors.SettingsError: no baseline 'svd'
    Choose one of: pmf, rowless, columnless, biased-mf, svd++, item-knn, nnmf, ncf, cf-nade, ...
    """
    if name not in BASELINES:
        raise SettingsError(
            f"no baseline {name!r}", right=f"Choose one of: {', '.join(BASELINES)}."
        )
    return BASELINES[name].load()


def make_baseline(name: str, **settings: Any) -> "Baseline[Any]":
    """A baseline by name, with these of its settings.

    >>> make_baseline("nnmf", width=20)
    NNMF(width=20)
    """
    return baseline_class(name)(**settings)
