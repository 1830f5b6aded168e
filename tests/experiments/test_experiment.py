import pytest

from evichain.errors import SettingsError
from evichain.experiments.experiment import Cell, Measured, Request, Results, key_of
from evichain.experiments.sources import Source


def results() -> Results:
    return Results(
        [
            Measured({"system": system, "seed": seed}, {"rmse": rmse + seed}, 1.0)
            for system, rmse in (("a", 1.0), ("b", 2.0))
            for seed in (0, 1)
        ]
    )


def test_results_are_chosen_by_what_they_are_of() -> None:
    found = results()
    assert found.distinct("system") == ["a", "b"]
    assert found.where(system="b").values("rmse") == [2.0, 3.0]
    assert found.where(system="b", seed=1).mean("rmse") == 3.0
    assert found.where(system="c").formatted("rmse") is None
    assert found.where(system="a", seed=0).formatted("rmse") == "1.000"


def test_a_figure_that_not_all_tell_has_the_mean_of_those_who_do() -> None:
    told = [Measured({}, found, 1.0) for found in ({"peak": 2.0}, {"peak": None}, {}, {"peak": 4})]
    assert Results(told).mean_known("peak") == 3.0
    assert Results(told[1:3]).mean_known("peak") is None


def test_errors_with_estimates_cut_stand_in_brackets_where_all_tell_them() -> None:
    def formatted(*cut: float | None) -> str | None:
        founds = [{"rmse": 0.93} if c is None else {"rmse": 0.93, "rmse_within": c} for c in cut]
        return Results([Measured({}, found, 1.0) for found in founds]).formatted_with_clipped(
            "rmse"
        )

    assert formatted(0.92) == "0.930 (0.920)"
    assert formatted(0.91, 0.93) == "0.930 ± 0.000 (0.920 ± 0.014)"
    assert formatted(0.93) == formatted(None) == "0.930"
    # One of them was measured before there was such a figure.
    assert formatted(0.92, None) == "0.930 ± 0.000"
    assert formatted() is None


def test_a_figure_is_asked_for_by_name_wherever_it_stands() -> None:
    cell = results().cells[0]
    assert (cell["system"], cell["rmse"]) == ("a", 1.0)
    with pytest.raises(KeyError):
        cell["mae"]


def test_a_cell_is_known_by_all_that_it_depends_on(small_data: str) -> None:
    def key(source: Source, version: str = "1", **of: object) -> str:
        return key_of(Cell(source, of, lambda progress: {}).identity("online", version))

    source = Source(small_data)
    keys = [
        key(source, seed=0),
        key(source, seed=1),
        key(source, seed=0, settings={"width": 3}),
        key(source, "2", seed=0),
        key(Source(small_data, quick=True), seed=0),
    ]
    assert len(set(keys)) == len(keys)
    assert key(source, a=1, b=2) == key(source, b=2, a=1)


def test_tables_could_not_tell_two_of_a_name_apart() -> None:
    with pytest.raises(SettingsError, match="two data sets are called 'mine'"):
        Request(["a/mine.csv", "b/mine.csv"])


def test_a_seed_is_given_once() -> None:
    with pytest.raises(SettingsError, match="the seed 3 is given twice"):
        Request(["mine.csv"], (3, 0, 3))
