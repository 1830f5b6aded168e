"""Settings of baselines: ranges and meanings in one place, and errors that name the setting."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evichain.errors import SettingsError


class BaselineSettings(BaseModel):
    """What every baseline can be told."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    seed: int = Field(default=0, ge=0, lt=2**63)
    """Everything random is drawn from it."""


class EpochSettings(BaselineSettings):
    """What everything that learns in epochs can be told."""

    epochs: int = Field(default=100, ge=0)
    """Passes over the training ratings, at most."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """The step size."""
    validation: float = Field(default=0.05, ge=0, lt=1)
    """The part of the training ratings kept aside to stop by; with none, all epochs are made."""
    validate_every: int = Field(default=1, ge=1)
    """Epochs between two looks at the validation ratings."""
    patience: int = Field(default=5, ge=1)
    """Looks without an improvement after which training stops; the best epoch is kept."""
    refit: bool = False
    """Learn again from all ratings, for as many epochs as were best by the validation ratings."""
    annealing: bool = True
    """Lower the step size along half a cosine, to nothing after the last epoch."""


Chosen = TypeVar("Chosen", bound=BaselineSettings)


def checked(kind: type[Chosen], given: Mapping[str, Any]) -> Chosen:
    """Settings of a kind.

    >>> checked(EpochSettings, {"epochs": 3}).epochs
    3
    """
    unknown = sorted(set(given) - set(kind.model_fields))
    if unknown:
        raise SettingsError(
            f"no setting {unknown[0]!r}",
            right=f"Settings are: {', '.join(sorted(kind.model_fields))}.",
        )
    try:
        return kind(**given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "settings"
        said = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{said} (given: {first['input']!r})", where=where) from None
