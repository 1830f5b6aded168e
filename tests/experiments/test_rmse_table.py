from matplotlib.figure import Figure
from tests.experiments.conftest import Make

from evichain.baselines import BASELINES, FOR_LISTS
from evichain.evaluation import evaluate
from evichain.experiments.experiment import Measured, Results
from evichain.experiments.rmse_table import OURS, SYSTEMS, THEIRS, RmseTable, published
from evichain.experiments.sources import Source
from evichain.experiments.systems import IN_BRACKETS, make_system
from evichain.ratings.splits import random_split


def test_every_system_is_in_the_table() -> None:
    assert set(SYSTEMS) == {"paper", "plus", *BASELINES} - {*FOR_LISTS}


def test_published_figures_stand_where_they_were_measured() -> None:
    assert [published("paper", OURS, d) for d in ("ml-100k", "ml-1m", "ml-10m")] == [
        0.910,
        0.882,
        0.846,
    ]
    # They are of the paper's form, not of ours.
    assert published("plus", OURS, "ml-100k") is None
    assert published("paper", THEIRS, "ml-100k") is None
    assert published("pmf", THEIRS, "ml-100k") == 0.952
    assert published("cf-nade", THEIRS, "ml-1m") == 0.829
    assert published("cf-nade", THEIRS, "ml-100k") is None
    assert published("cf-nade", THEIRS, "ml-10m") == 0.771
    assert published("pmf", OURS, "ml-100k") is None
    assert published("paper", OURS, None) is None


def test_the_table_has_the_papers_figures_beside_ours(make: Make, small_data: str) -> None:
    outcome = make("rmse-table")
    (table,) = outcome.document["tables"]
    rows = dict(zip(SYSTEMS, table["rows"], strict=True))
    assert rows["paper"][1] == 0.910
    assert rows["paper"][3] is None
    assert rows["nnmf"][1] is None
    assert rows["nnmf"][3] == 0.903
    for cell in outcome.document["cells"]:
        assert 0 < cell["found"]["training_seconds"] <= cell["seconds"]
        # All but the paper's form cut their estimates themselves.
        cut = cell["found"]["rmse_within"] == cell["found"]["rmse"]
        assert cut or cell["of"]["system"] == "paper"
    # Ours are what the same system gives by hand.
    source = Source(small_data, quick=True)
    split = random_split(source.ratings(), 0.9, 0)
    model = make_system("biased-mf", source, 0).fit(split.train)
    assert rows["biased-mf"][4] == f"{evaluate(model, split.test, n=0).rmse:.4f}"


def test_seconds_are_those_of_training() -> None:
    def cell(system: str, seed: int) -> Measured:
        of = {"data": "mine", "system": system, "split": OURS, "seed": seed, "paper_name": None}
        found = {"rmse": 1.0, "parameters": 10 * seed, "impossible": 0}
        return Measured(of, {**found, "training_seconds": 2.0 * seed}, 99.0)

    cells = [cell(system, seed) for system in SYSTEMS for seed in (1, 3)]
    (table,) = RmseTable().report(Results(cells)).tables
    assert list(table.rows[0][-3:]) == [20, 4, 0]


def test_errors_with_estimates_cut_stand_in_brackets() -> None:
    of = {"data": "mine", "system": "paper", "split": OURS, "seed": 0, "paper_name": None}
    found = {"rmse": 0.9348, "parameters": 10, "impossible": 0, "training_seconds": 2.0}
    before = RmseTable().report(Results([Measured(of, found, 3.0)]))
    both = RmseTable().report(Results([Measured(of, {**found, "rmse_within": 0.9301}, 3.0)]))
    assert before.tables[0].rows[0][2] == "0.9348"
    assert both.tables[0].rows[0][2] == "0.9348 (0.9301)"
    assert [*before.remarks, IN_BRACKETS] == list(both.remarks)


def test_every_panel_has_the_same_rows_also_where_few_were_measured() -> None:
    def cell(data: str, system: str) -> Measured:
        of = {"data": data, "system": system, "split": OURS, "seed": 0, "paper_name": None}
        found = {"rmse": 1.0, "parameters": 10, "impossible": 0, "training_seconds": 2.0}
        return Measured(of, found, 3.0)

    cells = [cell("one", system) for system in SYSTEMS] + [cell("two", "pmf")]
    figure = Figure()
    RmseTable().report(Results(cells)).draw(figure)
    assert {axes.get_ylim() for axes in figure.axes} == {(len(SYSTEMS) - 0.5, -0.5)}
