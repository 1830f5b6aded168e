"""Recipes: named sets of settings, which a user's own settings override."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from evichain.errors import SettingsError
from evichain.evidence.policy import Policy
from evichain.model.settings import ChainSettings
from evichain.training.settings import TrainingSettings

Kind = TypeVar("Kind", bound=BaseModel)


@dataclass(frozen=True)
class Settings:
    """All settings of a recommender, in three parts; no two parts share a name."""

    policy: Policy
    """The limits of the evidence."""
    chain: ChainSettings
    """The shape of the model."""
    training: TrainingSettings
    """How the model is trained."""

    @property
    def of_choices(self) -> bool:
        """Whether the model learns what is chosen, and not how it is rated."""
        return self.chain.generator == "choices"

    def __post_init__(self) -> None:
        if self.chain.generator == "channels":
            if self.policy.cycle_blocking:
                raise _misfit("channels do not support cycle_blocking; switch it off")
            if not (self.chain.ridge_channel or self.chain.presence_channel):
                raise _misfit("a generator by channels needs at least one channel")
            if self.training.pretrain_iterations:
                raise _misfit("channels do not support pretrain_iterations; set it to 0")
        choices = self.of_choices
        if choices != self.policy.staggered:
            raise _misfit("staggered and the generator 'choices' belong together")
        depth = self.policy.max_depth
        if choices and not (depth % 2 and depth >= 3):
            raise _misfit("choices need a max_depth of 3, 5, 7, ...")
        if choices and (self.chain.prototype_users or not self.chain.prototype_items):
            raise _misfit("choices need prototype items, and no prototype users")
        if choices and self.chain.shared_generators:
            raise _misfit("choices need a generator for each depth; switch shared_generators off")

    def model_dump(self) -> dict[str, Any]:
        """All settings by name, as pydantic's method of this name gives those of one part."""
        parts = (self.policy, self.chain, self.training)
        return {name: value for part in parts for name, value in part.model_dump().items()}


PARTS: Mapping[str, type[BaseModel]] = {
    "policy": Policy,
    "chain": ChainSettings,
    "training": TrainingSettings,
}
SETTING_NAMES: Sequence[str] = tuple(name for part in PARTS.values() for name in part.model_fields)


def _misfit(what: str) -> SettingsError:
    return SettingsError(what, where="settings")


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
CHOICES: Mapping[str, Any] = {
    "generator": "choices",
    "shared_generators": False,
    "staggered": True,
    "cycle_blocking": False,
    "telescoping": False,
    "prototype_users": 0,
    "prototype_items": 600,
    "max_depth": 5,
    "evidence_limit": 2**31,
    "key_size": 128,
    "validation": 0.1,
}
RECIPES: Mapping[str, Mapping[str, Any]] = {"plus": PLUS, "choices": CHOICES, "paper": {}}
"""What each recipe changes in the defaults; the defaults are those of the paper."""


def settings_for(recipe: str, *, ratings: int | None = None, **changes: Any) -> Settings:
    """The settings of a recipe with these changes.

    Args:
        ratings: how many there are to train on, if that is known already.

    >>> settings_for("paper", evidence_limit=40).policy.evidence_limit
    40
    >>> settings_for("plus", validation="0").training.patience
    0
    >>> sizes = (10**4, 10**6, 10**8)
    >>> [settings_for("plus", ratings=count).training.iterations for count in sizes]
    [300, 1000, 500]
    >>> [settings_for("plus", ratings=count).training.cold_start_share for count in sizes]
    [0.0, 0.05, 0.05]
    >>> [settings_for("plus", ratings=count).policy.evidence_limit for count in sizes]
    [512, 512, 2048]
    """
    if recipe not in RECIPES:
        raise SettingsError(f"no recipe {recipe!r}", right=f"Choose one of: {', '.join(RECIPES)}.")
    adapted = _adapted(ratings) if ratings is not None and recipe in ADAPTIVE else {}
    given = {**RECIPES[recipe], **adapted, **changes}
    _check_names(given, SETTING_NAMES)
    if "patience" not in changes and not _part("training", {**given, "patience": 0}).validation:
        given["patience"] = 0  # there are no validation ratings to watch
    return Settings(**{name: _part(name, given) for name in PARTS})


def _part(name: str, given: Mapping[str, Any]) -> Any:
    """One part of the settings, from those of all parts."""
    kind = PARTS[name]
    return checked(kind, {field: given[field] for field in kind.model_fields if field in given})


def checked(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Settings of a kind; an error names the setting that is wrong.

    >>> checked(Policy, {"max_depth": 3}).max_depth
    3
    """
    _check_names(given, kind.model_fields)
    try:
        return kind(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "settings"
        beside = f" (given: {first['input']!r})" if first["loc"] else ""
        raise SettingsError(
            f"{first['msg'].removeprefix('Value error, ')}{beside}", where=name
        ) from None


def _check_names(given: Iterable[str], known: Iterable[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise SettingsError(
            f"no setting {unknown[0]!r}", right=f"Settings are: {', '.join(sorted(known))}."
        )


def _adapted(ratings: int) -> dict[str, Any]:
    """The settings that depend on how many ratings there are.

    A model overfits few ratings soon, unless much of the evidence is hidden; many ratings take
    more steps. Where little is hidden, hardly any entity in a batch has few ratings, so some
    entities are truncated to a few, to simulate cold start. Beyond a million ratings, entities
    have more evidence, and using more of it pays. To bound the time of a step, its ratings then
    come from fewer users, and the entity sample stays as large as it is. Validation uses all
    evidence, so it is done less often.
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
