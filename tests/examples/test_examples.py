"""Every example runs, and says what it promises to."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from evichain import REC
from evichain.baselines import make_baseline
from evichain.testing import planted_blocks

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {"iterations": 100}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "ratings.csv"
    planted_blocks().frame.select("user_id", "item_id", "rating").write_csv(path)
    return str(path)


def run(name: str, *given: Any, **settings: Any) -> None:
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"](*given, **settings)


def test_quickstart_ends_with_the_reasons_for_the_best_of_the_list(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("quickstart", data, **SMALL)
    told = capsys.readouterr().out
    best = re.search(r"For user \w+:\n  \d\.\d\d ± \d\.\d\d  (\S+)\n", told)
    assert best is not None
    assert re.search(r"RMSE 0\.\d{4}", told)
    assert best[1] in told[best.end() :]


def test_newcomers_are_estimated_better_with_ratings_than_without(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("newcomers", data, **SMALL)
    errors = [float(e) for e in re.findall(r"each: ([\d.]+)", capsys.readouterr().out)]
    assert len(errors) == 5
    assert errors[-1] < errors[0] / 2


def test_everything_compared_has_a_row(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    compared = {"REC": REC(**SMALL), "other": make_baseline("online-mf", passes=2)}
    run("compare", data, compared=compared)
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["RMSE", "REC", "other"]


def test_the_code_in_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code.replace("REC()", "REC(iterations=2, evidence_limit=32)"), {})
    assert "estimate" in capsys.readouterr().out.lower()
    assert REC.load(tmp_path / "model").predict(9999, 50).reason is None
