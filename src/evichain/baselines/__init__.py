"""The recommenders to compare with: those the paper names, some for lists, and two references.

All keep `evichain.protocol.Recommender`.

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
    from evichain.evaluation import Evaluation
    from evichain.ratings.graph import Graph
    from evichain.ratings.table import Ratings


@dataclass(frozen=True)
class BaselineEntry:
    """One line of the registry: a baseline's module and class, and what is known of it.

    Attributes:
        about: what it is, in a line.
        published: the test RMSE in the literature, by data set and split.
        settings: settings that differ from the defaults, by data set.
        lists: whether it is for lists: its estimates are scores, and no ratings.
    """

    module: str
    name: str
    about: str
    published: Mapping[tuple[str, str], float] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lists: bool = False

    def load(self) -> "type[Baseline[Any]]":
        """The class, imported on first use because most need PyTorch."""
        found: type[Baseline[Any]] = getattr(
            import_module(f"evichain.baselines.{self.module}"), self.name
        )
        return found


_100K, _1M, _U1 = ("ml-100k", "random:0.9"), ("ml-1m", "random:0.9"), ("ml-100k", "u1")

BASELINES: Mapping[str, BaselineEntry] = {
    "popularity": BaselineEntry(
        "popularity", "Popularity", "the items with most ratings, for everyone"
    ),
    "biases": BaselineEntry("biases", "Biases", "the mean with shrunken user and item biases"),
    "pmf": BaselineEntry(
        "pmf",
        "PMF",
        "the chain with everyone a prototype",
        {_100K: 0.952, _1M: 0.883},
        {"ml-1m": {"iterations": 8000}},
    ),
    "rowless": BaselineEntry("rowless", "Rowless", "the chain with every item a prototype"),
    "columnless": BaselineEntry(
        "columnless", "Columnless", "the chain with every user a prototype"
    ),
    "biased-mf": BaselineEntry(
        "biased_mf",
        "BiasedMF",
        "factorization with biases",
        {_100K: 0.911, _1M: 0.852},
        {"ml-1m": {"factors": 50, "epochs": 40, "regularization": 0.05}},
    ),
    "svd++": BaselineEntry("svdpp", "SVDpp", "factorization with biases and what was rated at all"),
    "item-knn": BaselineEntry("item_knn", "ItemKNN", "neighbours among items, about baselines"),
    "nnmf": BaselineEntry(
        "nnmf",
        "NNMF",
        "a network in place of the inner product",
        {_100K: 0.903, _1M: 0.843},
        {"ml-1m": {"batch_size": 4096}},
    ),
    "ncf": BaselineEntry("ncf", "NCF", "a factorization and a network, fused; for ratings"),
    "cf-nade": BaselineEntry(
        "cf_nade",
        "CFNADE",
        "ratings predicted from those before them",
        {_1M: 0.829},
        {"ml-1m": {"epochs": 100, "learning_rate": 2e-3, "validate_every": 4}},
    ),
    "gc-mc": BaselineEntry(
        "gc_mc", "GCMC", "a graph convolution over ratings", {_U1: 0.910, _1M: 0.832}
    ),
    "rbm": BaselineEntry("rbm", "RBM", "a Boltzmann machine over ratings"),
    "prank": BaselineEntry("prank", "PRank", "a perceptron with thresholds for each user"),
    "online-mf": BaselineEntry("online_mf", "OnlineMF", "factorization of a stream of ratings"),
    "ease": BaselineEntry(
        "ease", "EASE", "lists: a linear model of items, in closed form", lists=True
    ),
    "ials": BaselineEntry("ials", "IALS", "lists: factorization of who chose what", lists=True),
    "collaborative-greedy": BaselineEntry(
        "collaborative_greedy",
        "CollaborativeGreedy",
        "lists: what users with a similar history chose",
        lists=True,
    ),
    "item-cosine": BaselineEntry(
        "item_cosine", "ItemCosine", "lists: the neighbours of what was chosen", lists=True
    ),
}
"""Every baseline, by name."""

FOR_LISTS = tuple(name for name, entry in BASELINES.items() if entry.lists)
"""The baselines for lists."""

LIST_PEERS = ("popularity", *FOR_LISTS)
"""The baselines that list for people who are not in the data."""

REFERENCES = ("popularity", "biases")
"""The baselines whose figures stand beside every evaluation."""


def baseline_class(name: str) -> "type[Baseline[Any]]":
    """The class of a baseline, by name.

    >>> baseline_class("svd")
    Traceback (most recent call last):
        ...
    evichain.errors.SettingsError: no baseline 'svd'
    Choose one of: popularity, biases, pmf, rowless, columnless, biased-mf, svd++, item-knn, ...
    """
    if name not in BASELINES:
        raise SettingsError(
            f"no baseline {name!r}", right=f"Choose one of: {', '.join(BASELINES)}."
        )
    return BASELINES[name].load()


def make_baseline(name: str, **settings: Any) -> "Baseline[Any]":
    """A baseline by name, with these settings.

    >>> make_baseline("nnmf", width=20)
    NNMF(width=20)
    """
    return baseline_class(name)(**settings)


def evaluate_references(
    train: "Ratings | Graph", test: Any, **options: Any
) -> dict[str, "Evaluation"]:
    """The figures of popularity and of shrunken biases, to judge other figures by.

    Args:
        train: the ratings that the recommender under evaluation knows.
        options: those of `evichain.evaluation.evaluate`.
    """
    from evichain.evaluation import evaluate

    return {name: evaluate(make_baseline(name).fit(train), test, **options) for name in REFERENCES}
