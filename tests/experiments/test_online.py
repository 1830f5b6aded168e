from pathlib import Path

import pytest
from tests.experiments.conftest import Make

from evichain.evaluation import evaluate
from evichain.experiments.experiment import Measured, Request, Results
from evichain.experiments.online import PAPER, STEP, SYSTEMS, Online, _among, _without
from evichain.experiments.running import run
from evichain.experiments.sources import Source
from evichain.experiments.systems import IN_BRACKETS, make_system, scale_of
from evichain.ratings.splits import growth_split, random_split
from evichain.ratings.table import Ratings
from evichain.recommender import REC
from evichain.testing import planted_blocks


def table(*rows: tuple[int, int]) -> Ratings:
    users, items = zip(*rows, strict=True)
    return Ratings.from_arrays(users, items, [3.0] * len(rows))


def test_who_is_there_and_what_is_new() -> None:
    everything, known = table((1, 1), (1, 2), (2, 1), (3, 3)), table((1, 1), (2, 2))
    assert _without(everything, known).frame.select("user_id", "item_id").rows() == [
        (1, 2),
        (2, 1),
        (3, 3),
    ]
    assert _among(everything, known).frame.select("user_id", "item_id").rows() == [
        (1, 1),
        (1, 2),
        (2, 1),
    ]


def test_growth_ends_with_everything_and_equals_the_split(make: Make, small_data: str) -> None:
    outcome = make("online")
    found = {cell["of"]["system"]: cell["found"] for cell in outcome.document["cells"]}
    source = Source(small_data, quick=True)
    ratings = source.ratings()
    steps = found["paper"]["steps"]
    assert [round(at["share"], 2) for at in steps] == [0.2, 0.4, 0.6, 0.8, 1.0]
    tested = [at["tested"] for at in steps]
    assert tested == sorted(tested)
    assert tested[-1] == len(random_split(ratings, 0.8, 0).test)
    # All at once, by hand: what comes later comes to the same.
    split = growth_split(ratings, STEP, 0)
    model = make_system("paper", source, 0)
    assert isinstance(model, REC)
    model.fit(split.train).add(split.later)
    assert found["paper"]["new_rmse"] == pytest.approx(
        evaluate(model, split.test, n=0).rmse, abs=1e-6
    )
    assert found["paper"]["parameters"] == model.parameter_count
    cut = evaluate(model, split.test, n=0, scale=scale_of(split.train)).rmse_within_scale
    assert found["paper"]["new_rmse_within"] == pytest.approx(cut, abs=1e-6)
    come = random_split(ratings, 0.8, 0).train.frame
    entities = come["user_id"].n_unique() + come["item_id"].n_unique()
    assert found["online-mf"]["parameters"] == entities * (20 + 1)


def test_the_table_is_the_papers(make: Make) -> None:
    final, steps = make("online").document["tables"]
    assert final["rows"][0][2] == PAPER["ml-100k"]["rmse"] == 0.967
    assert final["rows"][0][9] == 2020
    assert final["rows"][2][1] == "online MF"
    assert final["rows"][2][2] is None
    assert steps["header"][2:] == ["20 %", "40 %", "60 %", "80 %", "100 %"]


def test_a_step_with_nothing_to_test_on_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "tiny.csv"
    planted_blocks(6, 5).frame.write_csv(path)
    outcome = run("online", Request([str(path)], quick=True), tmp_path / "out")
    _, steps = outcome.document["tables"]
    assert [row[2] for row in steps["rows"]] == [None] * len(SYSTEMS)
    assert all(row[-1] is not None for row in steps["rows"])


def test_figures_are_means_over_seeds() -> None:
    def cell(seed: int, rmse: float | None) -> Measured:
        steps = [{"share": 0.2, "rmse": None}, {"share": 1.0, "rmse": rmse}]
        found = {"steps": steps, "new_rmse": 1.0, "mean_rmse": 1.0 + seed, "seen": 0.1 * seed}
        found |= {"parameters": 10 * seed, "new_entities": 20 * seed}
        of = {"data": "mine", "system": "paper", "seed": seed, "paper_name": None}
        return Measured(of, found, 1.0)

    report = Online().report(Results([cell(1, 0.5), cell(3, 0.7)]))
    (final,), (steps,) = (table.rows for table in report.tables)
    assert final[4] == "3.000 ± 1.414"
    assert (final[6], final[8], final[10]) == (20, "20.00%", 40)
    assert list(steps[2:]) == [None, pytest.approx(0.6)]


def test_errors_with_estimates_cut_stand_in_brackets() -> None:
    steps = [
        {"share": 0.2, "rmse": None, "rmse_within": None},
        {"share": 0.6, "rmse": 0.8, "rmse_within": 0.8},
        {"share": 1.0, "rmse": 0.7, "rmse_within": 0.6},
    ]
    found = {"steps": steps, "new_rmse": 0.9, "new_rmse_within": 0.85, "mean_rmse": 1.0}
    found |= {"seen": 0.1, "parameters": 10, "new_entities": 20}
    of = {"data": "mine", "system": "paper", "seed": 0, "paper_name": None}
    report = Online().report(Results([Measured(of, found, 1.0)]))
    (final,), (row,) = (table.rows for table in report.tables)
    assert final[3] == "0.9000 (0.8500)"
    assert list(row[2:]) == [None, 0.8, "0.700 (0.600)"]
    assert report.remarks[-1] == IN_BRACKETS
