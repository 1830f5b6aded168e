"""The recommenders that the paper compares with or names, behind one protocol.

>>> from evichain.testing import planted_blocks
>>> model = make_baseline("online-mf", seed=1).fit(planted_blocks())
>>> round(model.predict(0, 2).estimate)
5
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from evichain.errors import SettingsError

if TYPE_CHECKING:
    from evichain.baselines._base import Baseline


class Entry(NamedTuple):
    """Where a baseline is, and what it is in a line."""

    module: str
    name: str
    about: str

    def load(self) -> "type[Baseline[Any]]":
        """The class, imported on first use: most need PyTorch."""
        found: type[Baseline[Any]] = getattr(
            import_module(f"evichain.baselines.{self.module}"), self.name
        )
        return found


BASELINES: Mapping[str, Entry] = {
    "pmf": Entry("pmf", "PMF", "the chain with everyone a prototype"),
    "rowless": Entry("rowless", "Rowless", "the chain with every item a prototype"),
    "columnless": Entry("columnless", "Columnless", "the chain with every user a prototype"),
    "biased-mf": Entry("biased_mf", "BiasedMF", "factorization with biases"),
    "svd++": Entry("svdpp", "SVDpp", "factorization with biases and what was rated at all"),
    "item-knn": Entry("item_knn", "ItemKNN", "neighbours among items, about baselines"),
    "nnmf": Entry("nnmf", "NNMF", "a network in place of the inner product"),
    "ncf": Entry("ncf", "NCF", "a factorization and a network, fused; for ratings"),
    "cf-nade": Entry("cf_nade", "CFNADE", "ratings predicted from those before them"),
    "gc-mc": Entry("gc_mc", "GCMC", "a graph convolution over ratings"),
    "rbm": Entry("rbm", "RBM", "a Boltzmann machine over ratings"),
    "prank": Entry("prank", "PRank", "a perceptron with thresholds for each user"),
    "online-mf": Entry("online_mf", "OnlineMF", "factorization of a stream of ratings"),
}
"""Every baseline, by the name it is asked for."""


def make_baseline(name: str, **settings: Any) -> "Baseline[Any]":
    """A baseline by name, with these of its settings.

    >>> make_baseline("svd")
    Traceback (most recent call last):
        ...
    evichain.errors.SettingsError: no baseline 'svd'
    Choose one of: pmf, rowless, columnless, biased-mf, svd++, item-knn, nnmf, ncf, cf-nade, ...
    """
    if name not in BASELINES:
        raise SettingsError(
            f"no baseline {name!r}", right=f"Choose one of: {', '.join(BASELINES)}."
        )
    return BASELINES[name].load()(**settings)
