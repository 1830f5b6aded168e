from typing import Any

import pytest

from evichain.errors import SettingsError
from evichain.recipes import RECIPES, settings_for


def test_the_paper_recipe_is_the_papers_standard_configuration() -> None:
    settings = settings_for("paper")
    assert (settings.prototype_users, settings.prototype_items) == (50, 50)
    assert (settings.evidence_limit, settings.max_depth, settings.width) == (80, 4, 200)
    assert (settings.batch_size, settings.learning_rate) == (1000, 1e-3)
    assert (settings.regularization, settings.iterations) == (1e-5, 2000)
    assert not settings.hide_targets
    assert settings.policy.model_dump().items() <= settings.model_dump().items()
    assert settings.chain.model_dump().items() <= settings.model_dump().items()
    assert settings.training.model_dump().items() <= settings.model_dump().items()


@pytest.mark.parametrize(
    ("recipe", "changes", "message"),
    [
        ("papper", {}, "no recipe 'papper'\nChoose one of: plus, paper"),
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
