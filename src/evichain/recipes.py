"""Recipes: named sets of settings, and how a user's own are laid over them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError, model_validator

from evichain.errors import SettingsError
from evichain.evidence.policy import Policy
from evichain.model.settings import ChainSettings
from evichain.training.settings import TrainingSettings

Kind = TypeVar("Kind", bound=BaseModel)


class Settings(Policy, ChainSettings, TrainingSettings):
    """All settings of a recommender: the policy, the chain and its training."""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        if self.generator == "channels":
            if self.cycle_blocking:
                raise ValueError("channels know no cycle_blocking; switch it off")
            if not (self.ridge_channel or self.residual_channel or self.presence_channel):
                raise ValueError("a generator by channels needs at least one of them")
            if self.pretrain_iterations:
                raise ValueError("channels know no pretrain_iterations; set it to 0")
        return self

    @property
    def policy(self) -> Policy:
        """The part that limits the evidence."""
        return Policy(**self.model_dump(include=set(Policy.model_fields)))

    @property
    def chain(self) -> ChainSettings:
        """The part that shapes the model."""
        return ChainSettings(**self.model_dump(include=set(ChainSettings.model_fields)))

    @property
    def training(self) -> TrainingSettings:
        """The part that says how it is trained."""
        return TrainingSettings(**self.model_dump(include=set(TrainingSettings.model_fields)))


PLUS: Mapping[str, Any] = {
    "generator": "channels",
    "shared_generators": False,
    "bottom_prototypes": True,
    "cycle_blocking": False,
    "prototype_users": 300,
    "prototype_items": 300,
    "max_depth": 3,
    "evidence_limit": 512,
    "embedding_size": 64,
    "key_size": 56,
    "channel_size": 24,
    "width": 96,
    "iterations": 300,
    "batch_size": 65536,
    "batch_share": 0.2,
    "entity_sample": 12288,
    "learning_rate": 5e-3,
    "warmup": 30,
    "gradient_limit": 1.0,
    "averaging": 0.98,
    "regularization": 0.0,
    "pretrain_iterations": 0,
    "centring": False,
    "hide_targets": True,
    "evidence_dropout": 0.4,
    "cold_start_share": 0.05,
    "unknown_share": 0.02,
    "validation": 0.05,
    "validate_every": 25,
    "patience": 8,
}
RECIPES: Mapping[str, Mapping[str, Any]] = {"plus": PLUS, "paper": {}}
"""What each recipe changes in the defaults, which are those of the paper."""


def settings_for(recipe: str, *, ratings: int | None = None, **changes: Any) -> Settings:
    """The settings of a recipe with these changes.

    Args:
        ratings: how many there are to learn from, where that is known already.

    >>> settings_for("paper", evidence_limit=40).evidence_limit
    40
    >>> settings_for("plus", validation="0").patience
    0
    >>> [settings_for("plus", ratings=count).iterations for count in (10**4, 10**6, 10**8)]
    [300, 1000, 500]
    >>> [settings_for("plus", ratings=count).newcomers for count in (10**4, 10**6, 10**8)]
    [0.0, 0.05, 0.05]
    >>> [settings_for("plus", ratings=count).evidence_limit for count in (10**4, 10**6, 10**8)]
    [512, 512, 2048]
    """
    if recipe not in RECIPES:
        raise SettingsError(f"no recipe {recipe!r}", right=f"Choose one of: {', '.join(RECIPES)}.")
    adapted = _adapted(ratings) if ratings is not None and recipe in ADAPTIVE else {}
    given = {**RECIPES[recipe], **adapted, **changes}
    if "patience" not in changes and not checked(Settings, {**given, "patience": 0}).validation:
        given["patience"] = 0  # there is nothing to be patient about
    return checked(Settings, given)


def checked(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Settings of a kind, or an error that names the one that is wrong.

    >>> checked(Policy, {"max_depth": 3}).max_depth
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
        name = ".".join(map(str, first["loc"])) or "settings"
        beside = f" (given: {first['input']!r})" if first["loc"] else ""
        raise SettingsError(
            f"{first['msg'].removeprefix('Value error, ')}{beside}", where=name
        ) from None


def _adapted(ratings: int) -> dict[str, Any]:
    """Few ratings are learned by heart soon, unless much evidence is hidden; many take longer.

    Where little is hidden, hardly anyone would have but a few, so some are taken for newcomers.
    Beyond a million, entities have more evidence than fewer ratings would give them, and it pays
    to use it; so that a step does not take ever longer, its ratings are of fewer users then, and
    the crowd that may be evidence in it stays as large as it is. A look at the validation ratings
    uses all evidence, so there are fewer of them.
    """
    size = math.log10(max(ratings, 1))
    few, many, huge = (min(max(step, 0.0), 1.0) for step in (4.7 - size, size - 5, size - 6))
    return {
        "iterations": round(300 + 700 * many - 500 * huge),
        "evidence_dropout": round(0.5 - 0.4 * many + 0.2 * few, 3),
        "cold_start_share": round(0.05 * min(2 * many, 1), 3),
        "evidence_limit": round(512 * 4**huge),
        "ratings_per_user": round(16**huge),
        "validation": min(0.05, 1e5 / max(ratings, 1)),
        "validate_every": round(25 * 2**huge),
        "patience": round(8 / 2**huge),
    }


ADAPTIVE: Mapping[str, Sequence[str]] = {"plus": tuple(_adapted(1))}
"""The settings of a recipe that follow the number of ratings, unless the user gives them."""
