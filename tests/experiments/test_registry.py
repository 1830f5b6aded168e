import pytest

from evichain.experiments import EXPERIMENTS, make_experiment
from evichain.experiments.frame import Request


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
