"""Tuning on the users held out to validate on."""

from typing import Any

import pytest
from tests.choices import LIKED, liked_blocks

from evichain.baselines import make_baseline
from evichain.errors import SettingsError
from evichain.evaluation import HeldOutPart, HeldOutUsers, evaluate_held_out, tune_held_out
from evichain.evaluation.held_out_users import held_out_users


@pytest.fixture(scope="module")
def parts() -> HeldOutUsers:
    found = held_out_users(liked_blocks(200, 80, 4), threshold=LIKED)
    # Whoever reads the test part fails.
    unread: Any = HeldOutPart(None, None)  # type: ignore[arg-type]
    return HeldOutUsers(found.train, found.validation, unread, LIKED, 0)


def make(**settings: Any) -> Any:
    return make_baseline("ials", factors=4, **settings)


def test_the_best_is_kept_fitted(parts: HeldOutUsers) -> None:
    grid = [{"iterations": 0}, {"iterations": 8}, {"iterations": 1}]
    found = tune_held_out(make, grid, parts)
    assert [trial.settings for trial in found.trials] == grid
    assert found.best is found.trials[1]
    assert found.recommender.settings.iterations == 8
    assert evaluate_held_out(found.recommender, parts.validation) == found.best.validation
    figures = [trial.validation.ndcg_100 for trial in found.trials]
    assert found.best.validation.ndcg_100 == max(figures) > figures[0]


def test_the_first_of_equal_ones_is_kept(parts: HeldOutUsers) -> None:
    grid = [{"seed": 3}, {"seed": 4}]
    found = tune_held_out(lambda **given: make_baseline("popularity", **given), grid, parts)
    assert found.best is found.trials[0]
    assert found.recommender.settings.seed == 3


def test_nothing_to_try_is_refused(parts: HeldOutUsers) -> None:
    with pytest.raises(SettingsError, match="no settings to try"):
        tune_held_out(make, [], parts)
