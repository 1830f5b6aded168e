"""A benchmark of lists: REC and its peers on the same held-out users."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from evichain.baselines import LIST_PEERS, baseline_class
from evichain.bench.products import ratio
from evichain.errors import SettingsError
from evichain.evaluation import (
    HeldOutUsers,
    Trial,
    evaluate_held_out,
    tune_held_out,
)
from evichain.ratings.ids import Id
from evichain.ratings.table import Ratings
from evichain.recipes import settings_for
from evichain.recommender import REC

_DEFAULTS: Sequence[Mapping[str, Any]] = ({},)


def bench_lists(
    parts: HeldOutUsers,
    *,
    recipe: str | None = "choices",
    settings: Mapping[str, Any] | None = None,
    peers: Sequence[str] = LIST_PEERS,
    seed: int = 0,
    tune: bool = True,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Train REC and its peers on the training part, and test each of them once.

    Args:
        parts: what `held_out_users` gives.
        recipe: that of REC; None for the peers alone.
        settings: in place of the recipe's.
        peers: names of `evichain.baselines.LIST_PEERS`.
        tune: choose the settings of each peer from its grid, on the validation part; otherwise
            the defaults are used.

    Returns:
        `systems`, by name: the figures of `HeldOutMetrics`, `seconds` of training (`search_seconds`
        of all trials), `parameters`, `settings` and `trials`; `best_peer`, the one with the
        highest NDCG@100 on the test part; and `ratio`, our NDCG@100 over that.
    """
    check_peers(peers)
    systems: dict[str, dict[str, Any]] = {}
    if recipe is not None:
        say(f"REC, recipe {recipe}")
        begun = time.perf_counter()
        given = {"seed": seed, **(settings or {})}
        if settings_for(recipe, **given).of_choices:
            # In this protocol every row of the training part is a choice.
            given = {"liked_from": parts.train.frame["rating"].min(), **given}
        model = REC(recipe, **given)
        model.fit(parts.train, progress=progress)
        seconds = time.perf_counter() - begun
        validation = evaluate_held_out(model, parts.validation)
        trial = Trial({}, validation, seconds)
        systems[recipe] = _figures(model, parts, trial, [trial])
    for name in peers:
        say(name)
        kind = baseline_class(name)
        grid: Sequence[Mapping[str, Any]] = getattr(kind, "grid", _DEFAULTS) if tune else _DEFAULTS
        make = partial(kind, seed=seed)
        tuned = tune_held_out(make, grid, parts, name=name, progress=progress)
        systems[name] = _figures(tuned.recommender, parts, tuned.best, tuned.trials)
    best = max(peers, key=lambda name: systems[name]["ndcg_100"], default=None)
    ours = None if recipe is None else systems[recipe]["ndcg_100"]
    return {
        **_sizes(parts),
        "threshold": parts.threshold,
        "seed": parts.seed,
        "systems": systems,
        "ours": recipe,
        "best_peer": best,
        "ratio": None if ours is None or best is None else ratio(ours, systems[best]["ndcg_100"]),
    }


def check_peers(peers: Sequence[str]) -> None:
    """Raise an error, before any work, if one is no peer or needs a library that is missing."""
    for name in peers:
        if name not in LIST_PEERS:
            raise SettingsError(
                f"no peer {name!r} for lists", right=f"Choose from: {', '.join(LIST_PEERS)}."
            )
        baseline_class(name).check_installed()


def _figures(
    model: Any, parts: HeldOutUsers, best: Trial, trials: Sequence[Trial]
) -> dict[str, Any]:
    """The figures of a fitted model; here the test part is read."""
    return {
        **evaluate_held_out(model, parts.test).to_dict(),
        "validation_ndcg_100": best.validation.ndcg_100,
        "seconds": best.seconds,
        "search_seconds": sum(trial.seconds for trial in trials),
        "parameters": model.parameter_count,
        "settings": model.settings.model_dump(),
        "trials": [
            {"settings": dict(one.settings), "validation_ndcg_100": one.validation.ndcg_100}
            for one in trials
        ],
    }


def _sizes(parts: HeldOutUsers) -> dict[str, int]:
    def users(*tables: Ratings) -> int:
        found: set[Id] = set()
        return len(found.union(*(table.frame["user_id"].unique() for table in tables)))

    return {
        "train_users": users(parts.train),
        "validation_users": users(parts.validation.given, parts.validation.wanted),
        "test_users": users(parts.test.given, parts.test.wanted),
        "items": parts.train.frame["item_id"].n_unique(),
        "train_interactions": len(parts.train),
    }
