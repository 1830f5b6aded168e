"""Small data under the names that the paper's data sets have, so that its figures stand beside."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evichain.experiments.experiment import Request
from evichain.experiments.running import Outcome, run
from evichain.testing import planted_blocks

Make = Callable[..., Outcome]


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Blocks, with more users and items than there are prototypes."""
    path = tmp_path_factory.mktemp("data") / "ml-100k.csv"
    planted_blocks(90, 70, density=0.15, seed=3).frame.write_csv(path)
    return str(path)


@pytest.fixture
def make(tmp_path: Path, small_data: str) -> Make:
    """Make an experiment on the small data, quickly, in a folder of the test's own."""

    def made(
        name: str,
        *,
        seeds: tuple[int, ...] = (0,),
        systems: tuple[str, ...] = (),
        anew: bool = False,
    ) -> Outcome:
        request = Request([small_data], seeds, quick=True, systems=systems)
        return run(name, request, tmp_path, anew=anew)

    return made
