"""Recipes: named sets of settings, and how a user's own are laid over them."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from evichain.errors import SettingsError
from evichain.evidence.policy import Policy
from evichain.model.settings import ChainSettings
from evichain.training.settings import TrainingSettings


class Settings(Policy, ChainSettings, TrainingSettings):
    """All settings of a recommender: the policy, the chain and its training."""

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


RECIPES: Mapping[str, Mapping[str, Any]] = {
    "plus": {
        "generator": "channels",
        "shared_generators": False,
        "bottom_prototypes": True,
        "cycle_blocking": False,
        "max_depth": 3,
        "evidence_limit": 512,
        "embedding_size": 32,
        "width": 64,
        "iterations": 300,
        "batch_size": 65536,
        "batch_share": 0.2,
        "learning_rate": 3e-3,
        "warmup": 30,
        "gradient_limit": 1.0,
        "averaging": 0.99,
        "regularization": 0.0,
        "pretrain_iterations": 0,
        "centring": False,
        "hide_targets": True,
        "evidence_dropout": 0.4,
    },
    "paper": {},
}
"""What each recipe changes in the defaults, which are those of the paper."""


def settings_for(recipe: str, **changes: Any) -> Settings:
    """The settings of a recipe with these changes.

    >>> settings_for("paper", evidence_limit=40).evidence_limit
    40
    """
    if recipe not in RECIPES:
        raise SettingsError(f"no recipe {recipe!r}", right=f"Choose one of: {', '.join(RECIPES)}.")
    unknown = sorted(set(changes) - set(Settings.model_fields))
    if unknown:
        raise SettingsError(
            f"no setting {unknown[0]!r}",
            right=f"Settings are: {', '.join(sorted(Settings.model_fields))}.",
        )
    try:
        return Settings(**{**RECIPES[recipe], **changes})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "settings"
        given = f" (given: {first['input']!r})" if first["loc"] else ""
        raise SettingsError(
            f"{first['msg'].removeprefix('Value error, ')}{given}", where=name
        ) from None
