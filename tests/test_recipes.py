from typing import Any

import pytest

from evichain.errors import SettingsError
from evichain.recipes import RECIPES, settings_for


def test_the_paper_recipe_is_the_papers_standard_configuration() -> None:
    settings = settings_for("paper")
    assert settings.chain.prototype_counts == (50, 50)
    assert (settings.policy.evidence_limit, settings.policy.max_depth, settings.chain.width) == (
        80,
        4,
        200,
    )
    assert (settings.training.batch_size, settings.training.learning_rate) == (1000, 1e-3)
    assert (settings.training.regularization, settings.training.iterations) == (1e-5, 2000)
    assert not settings.training.hide_targets
    assert settings.policy.model_dump().items() <= settings.model_dump().items()
    assert settings.chain.model_dump().items() <= settings.model_dump().items()
    assert settings.training.model_dump().items() <= settings.model_dump().items()


@pytest.mark.parametrize(
    ("recipe", "changes", "message"),
    [
        ("papper", {}, "no recipe 'papper'\nChoose one of: plus, choices, paper"),
        ("paper", {"depth": 3}, "no setting 'depth'\nSettings are: annealing"),
        ("paper", {"evidence_limit": 0}, "evidence_limit: Input should be greater than"),
        ("paper", {"max_depth": 5}, "settings: cycle_blocking is exact up to max_depth 4"),
        ("paper", {"learning_rate": "fast"}, "learning_rate: Input should be a valid number"),
    ],
)
def test_mistakes_are_named(recipe: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_for(recipe, **changes)
    assert str(caught.value).startswith(message)


def test_every_recipe_is_valid() -> None:
    for name in RECIPES:
        settings_for(name)
