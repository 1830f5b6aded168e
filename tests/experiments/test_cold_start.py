import pytest
from tests.experiments.conftest import Make

from evichain.experiments.cold_start import COLD_USERS, LEFT, SYSTEMS, ColdStart
from evichain.experiments.frame import Request
from evichain.experiments.sources import Source
from evichain.experiments.systems import mean_rmse
from evichain.ratings.splits import cold_split


def test_the_grid_is_the_papers() -> None:
    cells = list(ColdStart().cells(Request(["ml-100k"])))
    grid = {(cell.of["cold"], cell.of["left"]) for cell in cells}
    warm = {(0, LEFT[-1])}
    assert grid - warm == {(count, left) for count in COLD_USERS[1:] for left in LEFT}
    assert len(cells) == len(grid) * len(SYSTEMS)


def test_the_report_has_both_recipes_and_gc_mc(make: Make, small_data: str) -> None:
    outcome = make("cold-start")
    everyone, cold = outcome.document["tables"]
    assert [row[0] for row in everyone["rows"]] == [
        "REC, recipe `paper`",
        "REC, recipe `plus`",
        "GC-MC",
        "guessing the mean",
    ]
    assert everyone["header"] == ["system", "n_r", "N_c = 0", "N_c = 5"]
    assert cold["header"] == ["system", "n_r", "N_c = 5"]
    assert "1.15" in outcome.page
    assert all(float(cell) > 0 for row in everyone["rows"] for cell in row[2:])
    # Guessing the mean, by hand.
    split = cold_split(Source(small_data, quick=True).ratings(), 5, 1, 0)
    assert split.cold is not None
    cold_test = split.test.take(split.test.frame["user_id"].is_in(split.cold.implode()))
    assert everyone["rows"][-1][3] == pytest.approx(mean_rmse(split.train, split.test))
    assert cold["rows"][-1][2] == pytest.approx(mean_rmse(split.train, cold_test))
    assert outcome.document["cells"][-1]["found"]["tested_cold"] == len(cold_test)
