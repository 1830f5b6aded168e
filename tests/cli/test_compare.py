import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from evichain.baselines import make_baseline
from evichain.cli.compare import DEFAULT
from evichain.evaluation import evaluate
from evichain.ratings import load_split

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]

SMALL = ["iterations=3", "embedding_size=4", "width=8", "evidence_limit=8"]
SMALL_PLUS = [argument for setting in SMALL for argument in ("--set", f"plus.{setting}")]


def test_the_same_figures_as_one_by_one(run_json: RunJson, data: Path) -> None:
    call = ("compare", data, "--split", "random:0.8", "--seed", 2, "--top", 5)
    named = ("--system", "biases", "--system", "ease", "--set", "ease.regularization=30")
    found = run_json(*call, *named)
    parts = load_split(str(data), "random:0.8", 2)
    assert list(found["systems"]) == ["biases", "ease"]
    assert found["test_ratings"] == len(parts.test)
    for name, settings in (("biases", {}), ("ease", {"regularization": 30.0})):
        model = make_baseline(name, seed=2, **settings).fit(parts.train)
        expected = evaluate(model, parts.test, n=5, threshold=parts.train.mean).to_dict()
        shown = found["systems"][name]
        assert shown["test"]["lists"] == pytest.approx(expected["lists"], nan_ok=True)
        assert shown["parameters"] == model.parameter_count
        assert shown["settings"] == model.settings.model_dump()
    assert found["systems"]["biases"]["test"]["rmse"] > 0
    assert found["systems"]["ease"]["test"]["rmse"] is None


def test_one_table_has_them_all(run: Run, data: Path) -> None:
    shown = run("compare", data, "--split", "random:0.8", *SMALL_PLUS)
    assert shown.exit_code == 0, shown.output
    title, header, *rows = shown.stdout.splitlines()
    assert title == f"{data}, random:0.8, seed 0"
    assert header.split()[:3] == ["RMSE", "MAE", "NDCG@10"]
    assert [row.split()[0] for row in rows] == list(DEFAULT)
    assert len(rows[0].split()) == len(rows[-1].split()) + 2


def test_a_missing_library_leaves_its_systems_out_unless_they_are_named(
    run: Run, refused: Refused, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "implicit", None)
    call = ("compare", data, "--split", "random:0.8")
    shown = run(*call, *SMALL_PLUS)
    assert "without ials: IALS needs implicit, which is not installed" in shown.stderr
    assert "ease" in shown.stdout
    assert "ials" not in shown.stdout
    assert "needs implicit" in refused(*call, "--system", "ials")[0]


def test_who_cannot_learn_later_is_named(run: Run, data: Path) -> None:
    shown = run("compare", data, "--split", "users:0.8/5", "--system", "biases")
    assert "biases cannot learn from the ratings that come later" in shown.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--split", "random:0.8", "--system", "svd"], "no system 'svd'"),
        (["--system", "biases"], "nothing to test on"),
        (["--split", "random:0.8", "--set", "iterations=3"], "sets nothing"),
        (["--split", "random:0.8", "--set", "nnmf.width=3"], "sets nothing"),
        (["--split", "random:0.8", "--set", "ease.depth=3"], "no setting 'depth'"),
    ],
)
def test_mistakes(refused: Refused, options: list[str], said: str) -> None:
    assert said in refused("compare", "nowhere.csv", *options)[0]
