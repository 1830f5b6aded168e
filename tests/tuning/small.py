"""A search so small that it takes no time, with Optuna itself."""

from collections.abc import Mapping
from typing import Any

from evichain import Ratings
from evichain.tuning import Range, Trial, Tuned, tune

FIXED: Mapping[str, Any] = {
    "iterations": 6,
    "validate_every": 2,
    "pretrain_iterations": 0,
    "batch_size": 64,
    "prototype_users": 6,
    "prototype_items": 6,
    "max_depth": 2,
    "evidence_limit": 8,
    "hidden_layers": 1,
    "embedding_size": 4,
}
SPACE = {"learning_rate": Range(1e-3, 1e-1), "width": Range(4, 16)}


def small(ratings: Ratings, trials: int, **options: Any) -> Tuned:
    fixed = {**FIXED, **options.pop("fixed", {})}
    return tune(
        ratings, **{"recipe": "paper", "trials": trials, "space": SPACE, "fixed": fixed, **options}
    )


def told(trials: tuple[Trial, ...]) -> list[tuple[Any, ...]]:
    return [(t.number, t.rmse, t.settings, t.parameters, t.pruned) for t in trials]
