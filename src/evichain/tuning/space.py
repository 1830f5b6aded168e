"""The space of a search: which settings are searched, and between which values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evichain.errors import SettingsError
from evichain.recipes import settings_for

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

VALIDATION = 0.1
"""The part of the ratings held out to compare trials, unless the caller sets it."""

_LOGARITHMIC = ("learning_rate", "regularization")
# With another split or seed, errors could not be compared.
_NEVER_SEARCHED = ("seed", "validation")


@dataclass(frozen=True)
class Range:
    """Every number from `low` to `high`, both included."""

    low: Any
    high: Any


@dataclass(frozen=True)
class Choices:
    """One of these values."""

    values: tuple[Any, ...]


Space = Mapping[str, Range | Choices]

SPACES: Mapping[str, Space] = {
    "plus": {
        "learning_rate": Range(1e-3, 1e-2),
        "evidence_dropout": Range(0.0, 0.9),
        "key_size": Range(8, 64),
        "embedding_size": Range(16, 80),
        "channel_size": Range(8, 32),
        "width": Range(32, 128),
        "max_depth": Range(2, 4),
        "batch_share": Range(0.05, 0.4),
    },
    "paper": {
        "learning_rate": Range(3e-4, 1e-2),
        "embedding_size": Range(8, 48),
        "width": Range(32, 256),
        "hidden_layers": Range(1, 3),
        "evidence_limit": Range(20, 160),
    },
}
"""What is searched of each recipe, unless the caller sets it or gives it another range."""


def search_space(
    recipe: str, fixed: Mapping[str, Any], space: Space | None = None
) -> dict[str, Range | Choices]:
    """The recipe's space without what is fixed and with `space` laid over it, all checked.

    >>> search_space("paper", {"width": 64}, {"max_depth": Range("2", "3")})["max_depth"]
    Range(low=2, high=3)
    """
    if settings_for(recipe, **{"validation": VALIDATION, **fixed}).of_choices:
        raise SettingsError(
            f"training with the recipe {recipe!r} is a search already: on validation lists",
            right="Use train.",
        )
    own = {name: SPACES[recipe][name] for name in SPACES[recipe] if name not in fixed}
    found = {
        name: _checked(recipe, fixed, name, wanted)
        for name, wanted in {**own, **(space or {})}.items()
    }
    if not found:
        raise SettingsError("nothing is left to search", right="Set less, or give a range.")
    return found


def _checked(
    recipe: str, fixed: Mapping[str, Any], name: str, wanted: Range | Choices
) -> Range | Choices:
    """The same with values of the setting's own type."""
    if name in fixed:
        raise SettingsError("is both set and searched", where=name, right="Do one of them.")
    if name in _NEVER_SEARCHED:
        right = "Set it for all trials."
        raise SettingsError("would make trials incomparable", where=name, right=right)

    def typed(value: Any) -> Any:
        changes = {"validation": VALIDATION, **fixed, name: value}
        return settings_for(recipe, **changes).model_dump()[name]

    if isinstance(wanted, Choices):
        values = tuple(dict.fromkeys(map(typed, wanted.values)))
        if len(values) < 2:
            raise SettingsError("one value is no choice", where=name, right="Set it instead.")
        return Choices(values)
    low = typed(wanted.low)
    if isinstance(low, (bool, str)):
        raise SettingsError("has no range", where=name, right="List the values to choose from.")
    high = typed(wanted.high)
    if not low < high:
        right = "The lower end comes first."
        raise SettingsError(f"{low} to {high} is not a range", where=name, right=right)
    return Range(low, high)


def distribution(name: str, wanted: Range | Choices) -> "BaseDistribution":
    """The same as Optuna's sampler wants it."""
    from optuna import distributions

    if isinstance(wanted, Choices):
        return distributions.CategoricalDistribution(wanted.values)
    if isinstance(wanted.low, int):
        return distributions.IntDistribution(wanted.low, wanted.high)
    log = name in _LOGARITHMIC and wanted.low > 0
    return distributions.FloatDistribution(wanted.low, wanted.high, log=log)


def holds(wanted: Range | Choices, value: Any) -> bool:
    """Whether this value is in the range or among the choices."""
    if isinstance(wanted, Choices):
        return value in wanted.values
    return bool(wanted.low <= value <= wanted.high)
