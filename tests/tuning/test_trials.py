from typing import Any

import pytest
from tests.tuning.small import FIXED, small

from evichain import REC, Ratings
from evichain.tuning import Trial, Tuned


def test_the_best_is_what_training_with_its_settings_gives(ratings: Ratings) -> None:
    found = small(ratings, 4)
    assert [trial.number for trial in found.trials] == [0, 1, 2, 3]
    assert found.best.rmse == min(t.rmse for t in found.trials if t.rmse is not None)
    assert found.settings == {**FIXED, **found.best.settings}
    model = REC(found.recipe, validation=0.1, **found.settings)
    looks: list[float] = []
    model.fit(ratings, watch=lambda step, values, _: looks.append(values.get("validation_rmse", 0)))
    assert looks[-1] == found.best.rmse
    assert model.parameter_count == found.best.parameters


def test_patience_keeps_its_validation(ratings: Ratings) -> None:
    found = small(ratings, 2, fixed={"patience": 1})
    assert found.settings["validation"] == 0.1
    found = small(ratings, 1, fixed={"validation": 0.2})
    assert "validation" not in found.settings


@pytest.mark.parametrize(
    ("recipe", "fixed", "kept"),
    [
        ("paper", {}, None),
        ("paper", {"validation": 0.2}, None),
        ("paper", {"patience": 2}, 0.1),
        ("paper", {"validation": 0.2, "patience": 2}, 0.2),
        ("plus", {}, None),
        ("plus", {"validation": 0.2}, 0.2),
        ("plus", {"patience": 2}, None),
        ("plus", {"validation": 0.2, "patience": 2}, 0.2),
        ("plus", {"validation": 0.2, "patience": 0}, None),
    ],
)
def test_only_patience_needs_validation(
    recipe: str, fixed: dict[str, Any], kept: float | None
) -> None:
    found = Tuned(recipe, fixed, (Trial(0, 1.0, {"width": 8}, 100, 0.1),)).settings
    assert found.get("validation") == kept
    settings = REC(recipe, **found).settings
    own = REC(recipe).settings
    assert settings.training.validation == (own.training.validation if kept is None else kept)
    assert settings.training.patience == fixed.get("patience", own.training.patience)
