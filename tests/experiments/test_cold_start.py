import pytest
from matplotlib.figure import Figure
from tests.experiments.conftest import Make

from evichain.experiments.cold_start import COLD_USERS, LEFT, SYSTEMS, ColdStart
from evichain.experiments.experiment import Measured, Request, Results
from evichain.experiments.sources import Source
from evichain.experiments.systems import IN_BRACKETS, mean_rmse
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
    figures = [str(cell).split(" (")[0] for row in everyone["rows"] for cell in row[2:]]
    assert all(float(figure) > 0 for figure in figures)
    # Guessing the mean, by hand.
    split = cold_split(Source(small_data, quick=True).ratings(), 5, 1, 0)
    assert split.cold is not None
    cold_test = split.test.take(split.test.frame["user_id"].is_in(split.cold.implode()))
    assert everyone["rows"][-1][3] == pytest.approx(mean_rmse(split.train, split.test))
    assert cold["rows"][-1][2] == pytest.approx(mean_rmse(split.train, cold_test))
    assert outcome.document["cells"][-1]["found"]["tested_cold"] == len(cold_test)


def test_errors_with_estimates_cut_stand_in_brackets(make: Make) -> None:
    outcome = make("cold-start", systems=("plus",))
    found = [cell["found"] for cell in outcome.document["cells"]]
    assert [cell["rmse_within"] == cell["rmse"] for cell in found] == [True, True]
    assert [cell["cold_rmse_within"] == cell["cold_rmse"] for cell in found] == [True, True]
    of = {"data": "mine", "system": "paper", "cold": 50, "left": 1, "seed": 0}
    wild = {"rmse": 0.978, "rmse_within": 0.95, "mean_rmse": 1.1}
    wild |= {"cold_rmse": 1.617, "cold_rmse_within": 1.2, "cold_mean_rmse": 1.1}
    report = ColdStart().report(Results([Measured(of, wild, 1.0)]))
    assert [table.rows[0][2] for table in report.tables] == ["0.978 (0.950)", "1.617 (1.200)"]
    assert report.remarks[-1] == IN_BRACKETS


def test_every_line_of_the_picture_has_its_own_look() -> None:
    def cell(system: str, left: int) -> Measured:
        of = {"data": "mine", "system": system, "cold": 50, "left": left, "seed": 0}
        return Measured(of, {"rmse": 1.0, "cold_rmse": None, "mean_rmse": 1.1}, 1.0)

    figure = Figure()
    cells = [cell(system, left) for system in SYSTEMS for left in LEFT]
    ColdStart().report(Results(cells)).draw(figure)
    lines = [line for line in figure.axes[0].lines if "left" in str(line.get_label())]
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == len(cells)
    assert len({line.get_linestyle() for line in lines}) == len(LEFT)
