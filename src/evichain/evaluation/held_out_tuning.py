"""The best of some settings, chosen by the lists for the users held out to validate on."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evichain.errors import SettingsError
from evichain.evaluation.held_out_quality import HeldOutMetrics, evaluate_held_out
from evichain.evaluation.held_out_users import HeldOutUsers
from evichain.progress import progress as progress_bar


@dataclass(frozen=True)
class Trial:
    """Settings, and how well they did on the validation part."""

    settings: Mapping[str, Any]
    validation: HeldOutMetrics
    seconds: float


@dataclass(frozen=True, eq=False)
class Tuned:
    """The recommender with the best settings, fitted, and all trials.

    Attributes:
        best: the trial with the highest NDCG@100; the first of equal ones.
    """

    recommender: Any
    best: Trial
    trials: Sequence[Trial]


def tune_held_out(
    make: Callable[..., Any],
    grid: Sequence[Mapping[str, Any]],
    parts: HeldOutUsers,
    *,
    name: str = "settings",
    progress: bool = False,
) -> Tuned:
    """Fit a recommender with each of some settings, and keep the best on the validation part.

    The test part is not read.

    Args:
        make: makes an unfitted recommender from settings.
        grid: the settings to try, at least one.
        parts: what `held_out_users` gives.
        name: what is tuned, for the progress bar.
    """
    if not grid:
        raise SettingsError("no settings to try", right="Give one or more.")
    trials: list[Trial] = []
    chosen: tuple[Any, Trial] | None = None
    with progress_bar(f"Tuning {name}", len(grid), enabled=progress, unit="trials") as bar:
        for settings in grid:
            begun = time.perf_counter()
            recommender = make(**settings)
            recommender.fit(parts.train)
            seconds = time.perf_counter() - begun
            trial = Trial(settings, evaluate_held_out(recommender, parts.validation), seconds)
            trials.append(trial)
            if chosen is None or trial.validation.ndcg_100 > chosen[1].validation.ndcg_100:
                chosen = recommender, trial
            bar(ndcg_100=chosen[1].validation.ndcg_100)
    assert chosen is not None
    return Tuned(chosen[0], chosen[1], trials)
