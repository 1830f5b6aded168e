"""The result of a search: its trials, and the settings to train with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evichain.recipes import RECIPES, settings_for
from evichain.tuning.space import VALIDATION

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True)
class Trial:
    """One set of settings and its result.

    Attributes:
        number: in the order in which trials ended, from 0.
        rmse: the validation error; None when the trial was pruned.
        settings: what the search chose.
        parameters: the size of the model; None if the settings were invalid.
        pruned: why it was pruned; None if it was trained to the end.
    """

    number: int
    rmse: float | None
    settings: Mapping[str, Any]
    parameters: int | None
    seconds: float
    pruned: str | None = None


@dataclass(frozen=True)
class Tuned:
    """All trials of a study.

    Attributes:
        fixed: the settings that were given and held in every trial.
        interrupted: whether it was stopped before the last trial.
    """

    recipe: str
    fixed: Mapping[str, Any]
    trials: tuple[Trial, ...]
    interrupted: bool = False

    @property
    def ranked(self) -> list[Trial]:
        """The trials that were trained to the end, the best first."""
        ended = [(trial.rmse, trial.number) for trial in self.trials if trial.rmse is not None]
        return [self.trials[number] for _, number in sorted(ended)]

    @property
    def best(self) -> Trial:
        """The trial with the lowest validation error."""
        return self.ranked[0]

    @property
    def settings(self) -> dict[str, Any]:
        """What to train with: `REC(tuned.recipe, **tuned.settings)`.

        The ratings held out to compare trials are trained on too, unless early stopping needs
        them.
        """
        found = {**self.fixed, **self.best.settings}
        if not settings_for(self.recipe, **{"validation": VALIDATION, **found}).training.patience:
            found.pop("validation", None)
        elif not RECIPES[self.recipe].get("validation"):
            found.setdefault("validation", VALIDATION)
        return found


def ended(study: "optuna.Study") -> list[Trial]:
    """The trials of a study that are complete or pruned."""
    from optuna.trial import TrialState

    states = (TrialState.COMPLETE, TrialState.PRUNED)
    return [
        Trial(
            number,
            trial.value if trial.state is TrialState.COMPLETE else None,
            dict(trial.params),
            trial.user_attrs.get("parameters"),
            round(trial.duration.total_seconds(), 3) if trial.duration else 0.0,
            trial.user_attrs.get("pruned"),
        )
        for number, trial in enumerate(study.get_trials(deepcopy=False, states=states))
    ]
