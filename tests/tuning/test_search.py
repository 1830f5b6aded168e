from pathlib import Path
from typing import Any

import pytest
from tests.tuning.small import FIXED, SPACE, small, told

from evichain import REC, Ratings
from evichain.errors import EvichainError, SettingsError
from evichain.tuning import SPACES, Choices, Range, TuningError, tune


def test_trials_stay_within_the_space_and_begin_with_the_recipe(ratings: Ratings) -> None:
    space = {**SPACE, "width": Choices((8, 200)), "telescoping": Choices((True, False))}
    found = small(ratings, 5, space=space)
    first = found.trials[0].settings
    assert first == {"learning_rate": 1e-3, "width": 200, "telescoping": True}
    for trial in found.trials:
        assert 1e-3 <= trial.settings["learning_rate"] <= 1e-1
        assert trial.settings["width"] in (8, 200)
    assert len({str(trial.settings) for trial in found.trials}) == 5


def test_the_same_seed_gives_the_same_trials(ratings: Ratings) -> None:
    first, again, other = (small(ratings, 3, seed=seed) for seed in (1, 1, 2))
    assert told(first.trials) == told(again.trials) != told(other.trials)


def test_interrupting_keeps_what_ended(
    ratings: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study.jsonl"
    fit, calls = REC.fit, []

    def interrupted(self: REC, *arguments: Any, **options: Any) -> REC:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(REC, "fit", interrupted)
        found = small(ratings, 5, storage=study)
    assert found.interrupted
    assert len(found.trials) == 2
    again = small(ratings, 2, storage=study)
    assert not again.interrupted
    assert told(again.trials) == told(small(ratings, 4).trials)


def test_interrupted_before_anything_ended(
    ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(REC, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small(ratings, 2)


def test_large_models_are_never_trained(ratings: Ratings) -> None:
    found = small(ratings, 6, space={**SPACE, "width": Choices((4, 200))}, most_parameters=2000)
    large = [trial for trial in found.trials if trial.settings["width"] == 200]
    assert large
    assert all(trial.pruned is not None and "more than 2,000" in trial.pruned for trial in large)
    assert all(trial.rmse is None for trial in large)
    assert found.best.settings["width"] == 4
    with pytest.raises(TuningError, match="all 2 trials were pruned"):
        small(ratings, 2, most_parameters=10)


def test_hopeless_trials_are_given_up(ratings: Ratings) -> None:
    space = {"learning_rate": Range(1e-6, 1e-1), "width": Range(4, 16)}
    fixed = {"iterations": 20, "annealing": False}
    found = small(ratings, 10, space=space, fixed=fixed)
    pruned = [trial for trial in found.trials if trial.pruned]
    assert pruned
    assert all("above the median after" in str(trial.pruned) for trial in pruned)
    assert not {trial.number for trial in pruned} & {trial.number for trial in found.ranked}


def test_settings_that_do_not_go_together_are_left_out(ratings: Ratings) -> None:
    space = {"cycle_blocking": Choices((True, False)), "max_depth": Choices((2, 6))}
    fixed = {name: value for name, value in FIXED.items() if name != "max_depth"}
    fixed |= {"generator": "mean", "bottom_prototypes": False}
    found = tune(ratings, trials=8, space=space, fixed=fixed)
    for trial in found.trials:
        apart = trial.settings["cycle_blocking"] and trial.settings["max_depth"] == 6
        assert apart == ("exact up to max_depth 4" in (trial.pruned or ""))
    assert any("exact" in (trial.pruned or "") for trial in found.trials)


def test_data_too_small_to_keep_any_aside(ratings: Ratings) -> None:
    with pytest.raises(EvichainError):
        small(ratings.take([0, 1, 2]), 1)


@pytest.mark.parametrize("name", ["validation", "iterations"])
def test_something_has_to_be_compared(ratings: Ratings, name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name}: is 0"):
        small(ratings, 1, fixed={name: 0})


def test_the_recipe_with_channels(ratings: Ratings) -> None:
    fixed = {name: value for name, value in FIXED.items() if name not in SPACES["plus"]}
    found = tune(ratings, trials=2, fixed=fixed, space={"width": Range(8, 16)})
    assert found.recipe == "plus"
    assert set(found.best.settings) == set(SPACES["plus"])
