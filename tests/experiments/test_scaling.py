from pathlib import Path

from tests.experiments.conftest import Make

from evichain.experiments.experiment import Measured, Results
from evichain.experiments.scaling import Scaling, measure, step_settings
from evichain.experiments.sources import Source
from evichain.testing import planted_blocks


def test_parameters_of_rec_stay_and_those_of_pmf_grow(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"  # even a part has more users and items than there are prototypes
    planted_blocks(500, 450, density=0.04, seed=3).frame.write_csv(path)
    source = Source(str(path), quick=True)
    for system in ("paper", "plus", "pmf"):
        part, whole = (measure(source, system, share, 0, 1) for share in (0.7, 1.0))
        assert part["ratings"] < whole["ratings"]
        assert part["users"] < whole["users"]
        if system == "pmf":
            assert whole["parameters"] == 20 * (whole["users"] + whole["items"])
            assert part["parameters"] < whole["parameters"]
        else:
            assert part["parameters"] == whole["parameters"]
        assert whole["seconds"] > 0


def test_every_size_has_the_same_limits_in_the_papers_form(small_data: str) -> None:
    source = Source(small_data)
    settings = step_settings("paper", source, source.ratings(), 0)
    assert (settings.policy.evidence_limit, settings.policy.max_depth) == (80, 4)


def test_each_has_a_process_and_a_row(make: Make) -> None:
    outcome = make("scaling")
    (table,) = outcome.document["tables"]
    assert [row[0] for row in table["rows"]] == ["REC, recipe `paper`", "REC, recipe `plus`", "PMF"]
    assert table["rows"][0][5] == 10
    assert table["rows"][0][7] == "0.17 M"
    assert table["rows"][1][5] is None


def test_a_size_has_one_row_whatever_the_seeds() -> None:
    def cell(data: str, seed: int) -> Measured:
        of = {"system": "pmf", "data": data, "share": 0.5, "seed": seed, "paper_name": None}
        found = {"ratings": 9, "users": 2, "items": 5, "seconds": 1.0 + seed, "parameters": 140}
        return Measured(of, {**found, "graph_bytes": 90, "peak_bytes": seed * 10**6}, 1.0)

    cells = [cell(data, seed) for data in ("a", "b") for seed in (1, 3)]
    (table,) = Scaling().report(Results(cells)).tables
    assert [row[1] for row in table.rows] == ["a, 50% of users", "b, 50% of users"]
    assert table.rows[0][4] == "3.0000 ± 1.4142"
    assert table.rows[0][-1] == "2 MB"
