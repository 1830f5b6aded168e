import json
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.experiments.conftest import Make

from evichain.errors import DataError, SettingsError, SplitError
from evichain.experiments import EXPERIMENTS
from evichain.experiments.experiment import Request
from evichain.experiments.running import check_request, run
from evichain.testing import planted_blocks

PNG = b"\x89PNG\r\n\x1a\n"


def test_what_was_measured_is_not_measured_again(make: Make, tmp_path: Path) -> None:
    first = make("complexity")
    assert first.measured == 3
    kept = {p: p.read_bytes() for p in (tmp_path / "cells").rglob("*.json")}
    assert len(kept) == 3
    again = make("complexity")
    assert again.measured == 0
    assert again.document == first.document
    more = make("complexity", seeds=(0, 1))
    assert more.measured == 3
    assert all(path.read_bytes() == content for path, content in kept.items())


def test_a_run_that_was_ended_goes_on_where_it_was(make: Make, tmp_path: Path) -> None:
    whole = make("complexity")
    cells = sorted((tmp_path / "cells" / "complexity").iterdir())
    cells[0].unlink()
    cells[1].write_text(cells[1].read_text()[:50])  # as if the machine had gone down
    again = make("complexity")
    assert again.measured == 2
    assert again.document["tables"] == whole.document["tables"]


def test_anew_measures_what_is_asked_for_again_and_keeps_the_rest(make: Make) -> None:
    make("complexity", seeds=(0, 1))
    assert make("complexity", anew=True).measured == 3
    assert make("complexity", seeds=(1,)).measured == 0


def test_systems_that_are_asked_for_are_measured_and_others_reported(make: Make) -> None:
    few = make("online", systems=("plus",))
    assert few.measured == 1
    assert few.document["command"].endswith("--seed 0 --system plus --quick")
    assert {cell["of"]["system"] for cell in few.document["cells"]} == {"plus"}
    more = make("online", systems=("online-mf",), anew=True)
    assert more.measured == 1
    assert [cell["of"]["system"] for cell in more.document["cells"]] == ["plus", "online-mf"]
    # No single call with `--system` has made this report.
    assert more.document["command"].endswith("--seed 0 --quick")
    assert more.page.endswith("--seed 0 --quick`, measured in several calls with `--system`.\n")
    assert [few.document["several_calls"], more.document["several_calls"]] == [False, True]
    whole = make("online")
    assert whole.measured == 1
    assert whole.page.endswith("--seed 0 --quick`.\n")


@pytest.mark.parametrize("name", ["rmse-table", "cold-start", "convergence", "scaling"])
def test_a_report_of_one_system_has_no_other(name: str, make: Make) -> None:
    tables = make(name, systems=("pmf",) if name == "rmse-table" else ("plus",)).document["tables"]
    texts = [str(row) for table in tables for row in table["rows"]]
    assert texts
    assert not any("GC-MC" in text or "recipe `paper`" in text for text in texts)


def test_systems_that_are_not_there_are_said(small_data: str) -> None:
    def refused(*names: str) -> str:
        with pytest.raises(SettingsError) as found:
            check_request(names, Request([small_data], quick=True, systems=("plus", "gc-mc")))
        return str(found.value)

    assert "no system 'gc-mc' in online\nChoose among: paper, plus, online-mf." in refused("online")
    assert "no system 'plus' in complexity\nAsk for no system." in refused("complexity")
    check_request(["cold-start"], Request([small_data], quick=True, systems=("plus", "gc-mc")))


def test_other_data_of_the_same_name_is_measured(tmp_path: Path) -> None:
    found = []
    for seed in (0, 1):
        path = tmp_path / str(seed) / "mine.csv"
        path.parent.mkdir()
        planted_blocks(20, 12, seed=seed).frame.write_csv(path)
        found.append(run("complexity", Request([str(path)], quick=True), tmp_path / "out"))
    assert [outcome.measured for outcome in found] == [3, 3]


def test_the_report_is_written_as_json_markdown_and_png(make: Make, tmp_path: Path) -> None:
    outcome = make("complexity")
    assert {path.name for path in outcome.files} == {
        f"complexity.{e}" for e in ("json", "md", "png")
    }
    document = json.loads((tmp_path / "complexity.json").read_text())
    assert document == outcome.document
    assert document["seeds"] == [0]
    assert document["quick"] is True
    assert document["command"].startswith("evichain paper complexity --data ")
    assert (tmp_path / "complexity.md").read_text() == outcome.page
    assert (tmp_path / "complexity.png").read_bytes().startswith(PNG)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_no_folder_and_no_experiment_are_said(tmp_path: Path, small_data: str) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    with pytest.raises(SettingsError, match="results cannot be kept here"):
        run("complexity", Request([small_data]), taken)
    with pytest.raises(SettingsError, match="no experiment 'table'"):
        run("table", Request([small_data]), tmp_path)


def test_what_is_not_installed_is_said_before_anything_is_measured(
    small_data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request([small_data], quick=True)
    check_request(EXPERIMENTS, request)
    monkeypatch.setitem(sys.modules, "surprise", None)
    check_request(["online", "scaling"], request)
    with pytest.raises(SettingsError, match="BiasedMF needs Surprise"):
        check_request(EXPERIMENTS, request)
    check_request(["rmse-table"], Request([small_data], quick=True, systems=("plus", "nnmf")))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SettingsError, match="pictures need Matplotlib"):
        check_request(["online"], request)


@pytest.mark.parametrize(
    ("name", "users", "items"),
    [("cold-start", 4, 6), ("online", 2, 2), ("trace", 1, 1), ("rmse-table", 1, 1)],
)
def test_a_split_that_cannot_be_is_said_before_anything_is_measured(
    name: str, users: int, items: int, tmp_path: Path
) -> None:
    path = tmp_path / "tiny.csv"
    rows = [(user, item, 1 + item % 5) for user in range(users) for item in range(items)]
    pl.DataFrame(rows, ["user_id", "item_id", "rating"], orient="row").write_csv(path)
    with pytest.raises(SplitError, match=f"{name} of tiny, seed 0: "):
        check_request(["complexity", name], Request([str(path)], quick=True))


def test_data_that_is_not_there_is_said_before_anything_is_measured(
    small_data: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv"):
        run("complexity", Request([small_data, "nowhere.csv"], quick=True), tmp_path)
    assert not list(tmp_path.rglob("*.json"))


def test_a_mistake_in_the_last_is_said_before_the_first(small_data: str, tmp_path: Path) -> None:
    with pytest.raises(SplitError, match="cold-start of ml-100k, seed 0: no 150 users to cut"):
        run("cold-start", Request([small_data]), tmp_path)
    assert not list(tmp_path.rglob("*.json"))
