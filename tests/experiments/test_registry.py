from collections.abc import Callable

import pytest

from evichain import recipes
from evichain.baselines import BASELINES
from evichain.experiments import EXPERIMENTS, complexity, make_experiment
from evichain.experiments.experiment import Request, key_of


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_says_what_it_measures(name: str, small_data: str) -> None:
    experiment = make_experiment(name)
    assert experiment.title
    assert experiment.claim
    cells = list(experiment.cells(Request([small_data], (0, 1))))
    keys = [str(cell.identity(name, "")) for cell in cells]
    assert len(set(keys)) == len(keys)
    assert {cell.of["seed"] for cell in cells} == {0, 1}
    assert len({cell.name for cell in cells}) == len(cells)


_BY_RECIPE = "convergence", "scaling"


def _another_recipe(patch: pytest.MonkeyPatch) -> None:
    other = {"width": 77, "evidence_limit": 77}
    changed = {name: {**changes, **other} for name, changes in recipes.RECIPES.items()}
    patch.setattr(recipes, "RECIPES", changed)


def _another_limit(patch: pytest.MonkeyPatch) -> None:
    limited = {name: {**told, "evidence_limit": 77} for name, told in complexity.CONTROLS.items()}
    patch.setattr(complexity, "CONTROLS", limited)


def _more_prototypes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(complexity, "PROTOTYPES", 77)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, _another_recipe) for name in EXPERIMENTS if name != "complexity"),
        ("complexity", _another_limit),
        ("complexity", _more_prototypes),
    ],
)
def test_other_settings_give_other_keys(
    name: str,
    change: Callable[[pytest.MonkeyPatch], None],
    small_data: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def keys() -> dict[str, str]:
        cells = make_experiment(name).cells(Request([small_data]))
        # A baseline has settings of its own; PMF by the side of REC has the recipe's.
        ours = [c for c in cells if c.of.get("system") not in BASELINES or name in _BY_RECIPE]
        return {cell.name: key_of(cell.identity(name, "")) for cell in ours}

    before = keys()
    assert keys() == before
    change(monkeypatch)
    after = keys()
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
