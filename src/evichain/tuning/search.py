"""Runs trials: each trains a model with settings that the study chooses, unless it is pruned."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from evichain.errors import SettingsError
from evichain.model.chain import Chain
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.inputs import as_ratings
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import Settings, settings_for
from evichain.recommender import REC
from evichain.training.trainer import Trainer
from evichain.tuning.space import VALIDATION, Space, distribution, holds, search_space
from evichain.tuning.study import TuningError, check_installed, open_study, question, quiet
from evichain.tuning.trials import Tuned, ended

if TYPE_CHECKING:
    import optuna

MOST_PARAMETERS = 200_000


def tune(
    ratings: Any,
    *,
    recipe: str = "plus",
    trials: int = 20,
    seed: int = 0,
    space: Space | None = None,
    fixed: Mapping[str, Any] | None = None,
    storage: str | Path | None = None,
    most_parameters: int = MOST_PARAMETERS,
    progress: bool = False,
) -> Tuned:
    """Search the settings of a recipe for the lowest validation error.

    The first trial is the recipe itself, as far as the space allows, so that the best is no
    worse. A trial whose error is above the median of the others at the same step is pruned.
    An interrupt stops the search; the trials finished by then are returned.

    Args:
        ratings: what `REC.fit` takes; a tenth is held out unless `validation` is fixed.
        trials: how many to run, in addition to those in the storage.
        seed: of the trials and of training. The trials of a study are the same whether it is
            made at one time or at several.
        space: ranges or choices by setting, laid over `SPACES[recipe]`.
        fixed: settings that hold in every trial; these are not searched.
        storage: a file that keeps the study, to continue it later.
        most_parameters: larger models are pruned before they are trained.
        progress: show a progress bar.
    """
    check_installed()
    table = as_ratings(ratings)
    changes = {"validation": VALIDATION, "seed": seed, **(fixed or {})}
    base = settings_for(recipe, ratings=len(table), **changes)
    if not (base.training.validation and base.training.iterations):
        name = "iterations" if base.training.validation else "validation"
        raise SettingsError("is 0, so there is nothing to compare", where=name)
    searched = search_space(recipe, fixed or {}, space)
    graph = Graph.build(table)
    sizes = (len(graph.ids[Side.USER]), len(graph.ids[Side.ITEM]))
    asking = question(recipe, graph, base, searched)
    with quiet():
        study = open_study(Path(storage) if storage else None, asking, base.training.iterations)
        search = _Search(study, table, recipe, changes, searched, sizes, most_parameters)
        interrupted = False
        try:
            with progress_bar("Tuning", trials, enabled=progress, unit="trials") as bar:
                for _ in range(trials):
                    search.one(seed)
                    best = min((t.rmse for t in ended(study) if t.rmse is not None), default=None)
                    bar(1, **({} if best is None else {"best": best}))
        except KeyboardInterrupt:
            interrupted = True
        made = ended(study)
    if all(trial.rmse is None for trial in made):
        if interrupted:
            raise KeyboardInterrupt
        raise TuningError(
            f"all {len(made)} trials were pruned",
            right=f"The last one: {made[-1].pruned}." if made else "Make at least one trial.",
        )
    values = base.model_dump()
    kept = {name: values[name] for name in fixed or {}}
    return Tuned(recipe, kept, tuple(made), interrupted)


@dataclass(frozen=True)
class _Search:
    """A study, and what its trials are made of."""

    study: "optuna.Study"
    table: Ratings
    recipe: str
    changes: Mapping[str, Any]
    searched: Space
    sizes: tuple[int, int]
    most_parameters: int

    def one(self, seed: int) -> None:
        """Make the next trial."""
        import optuna
        from optuna.trial import TrialState

        number = len(ended(self.study))
        # A sampler for each trial: a single one would draw the first trials again when a study
        # is continued. Trials of killed processes stay in state RUNNING and are ignored.
        state = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        self.study.sampler = optuna.samplers.TPESampler(
            seed=state, multivariate=True, constant_liar=False
        )
        spread = {name: distribution(name, wanted) for name, wanted in self.searched.items()}
        if number == 0:
            own = self._settings({}).model_dump()
            inside = {name: own[name] for name in spread if holds(self.searched[name], own[name])}
            self.study.enqueue_trial(inside)
        trial = self.study.ask(spread)
        try:
            rmse = self._rmse(trial)
        except (optuna.TrialPruned, SettingsError) as error:
            why = f"{error.where}: {error.what}" if isinstance(error, SettingsError) else error
            trial.set_user_attr("pruned", str(why))
            self.study.tell(trial, state=TrialState.PRUNED)
        except BaseException:
            self.study.tell(trial, state=TrialState.FAIL)
            raise
        else:
            self.study.tell(trial, rmse)

    def _settings(self, chosen: Mapping[str, Any]) -> Settings:
        return settings_for(self.recipe, ratings=len(self.table), **{**self.changes, **chosen})

    def _rmse(self, trial: "optuna.Trial") -> float:
        """The validation error of the model that a trial's settings give."""
        import optuna

        settings = self._settings(trial.params)
        count = _parameters(settings, self.sizes)
        trial.set_user_attr("parameters", count)
        if count > self.most_parameters:
            raise optuna.TrialPruned(f"{count:,} parameters, more than {self.most_parameters:,}")
        looks: list[float] = []

        def watch(step: int, values: dict[str, float], trainer: Trainer) -> None:
            if "validation_rmse" not in values:
                return
            looks.append(values["validation_rmse"])
            trial.report(looks[-1], step)
            if step < settings.training.iterations and trial.should_prune():
                raise optuna.TrialPruned(f"above the median after {step} steps ({looks[-1]:.4f})")

        REC(self.recipe, **{**self.changes, **trial.params}).fit(self.table, watch=watch)
        if not looks:
            raise optuna.TrialPruned("too few ratings, or too few steps, to compare it by")
        # With patience the best state is kept, else the last.
        rmse = min(looks) if settings.training.patience else looks[-1]
        if not math.isfinite(rmse):
            raise optuna.TrialPruned("the error is not a number")
        return rmse


def _parameters(settings: Settings, sizes: tuple[int, int]) -> int:
    """The number of parameters of a model, without allocating it."""
    wanted = settings.chain.prototype_counts
    counts = [min(wanted[side], sizes[side]) for side in Side]
    with torch.device("meta"):
        return Chain(settings.chain, counts, 0.0, depths=settings.policy.max_depth).parameter_count
