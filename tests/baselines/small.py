"""Settings with which each baseline is tiny, and learns the planted blocks all the same."""

from collections.abc import Callable
from typing import Any

from evichain.baselines import make_baseline
from evichain.baselines._base import Baseline

SMALL: dict[str, dict[str, Any]] = {
    "popularity": {},
    "biases": {},
    "pmf": {"embedding_size": 4, "iterations": 60, "batch_size": 512, "learning_rate": 0.1},
    "rowless": {
        "embedding_size": 128,
        "iterations": 80,
        "batch_size": 128,
        "learning_rate": 0.03,
        "width": 64,
        "hidden_layers": 1,
        "evidence_limit": 12,
        "validate_every": 1000,
    },
    "biased-mf": {"factors": 4, "epochs": 20, "learning_rate": 0.05, "regularization": 0.01},
    "svd++": {"factors": 4, "epochs": 10, "learning_rate": 0.05, "regularization": 0.01},
    "item-knn": {"neighbours": 10, "shrinkage": 5.0},
    "nnmf": {
        "vector_size": 2,
        "product_size": 4,
        "width": 8,
        "hidden_layers": 1,
        "epochs": 6,
        "batch_size": 64,
        "learning_rate": 0.03,
        "regularization": 0.01,
        "refit": False,
    },
    "ncf": {
        "factors": 4,
        "hidden_layers": 1,
        "epochs": 6,
        "batch_size": 64,
        "learning_rate": 0.03,
        "regularization": 0.01,
    },
    "cf-nade": {
        "hidden_units": 8,
        "epochs": 8,
        "batch_size": 8,
        "learning_rate": 0.03,
        "weight_decay": 0.001,
    },
    "gc-mc": {
        "hidden_units": 16,
        "embedding_size": 8,
        "epochs": 20,
        "dropout": 0.2,
        "learning_rate": 0.03,
        "averaging": 0.5,
    },
    "rbm": {"hidden_units": 8, "epochs": 8, "batch_size": 8, "learning_rate": 0.1},
    "prank": {},
    "online-mf": {"factors": 4, "passes": 20, "learning_rate": 0.05},
    # In the planted blocks everyone rates everything alike often: only the ratings tell who
    # likes what.
    "ease": {"weighted": True, "regularization": 20.0},
    "ials": {"weighted": True, "factors": 2, "unobserved": 0.3, "ridge": 0.05},
    "collaborative-greedy": {"weighted": True, "similarity": 0.4},
    "item-cosine": {"weighted": True, "neighbours": 20},
}
SMALL["columnless"] = SMALL["rowless"]


def small(name: str, **changes: Any) -> Callable[[], Baseline[Any]]:
    """What makes a tiny baseline."""
    settings: dict[str, Any] = {"seed": 1, **SMALL[name], **changes}
    return lambda: make_baseline(name, **settings)
