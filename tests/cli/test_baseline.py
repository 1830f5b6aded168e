from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

import evichain.cli.baseline
from evichain.baselines import BASELINES, make_baseline
from evichain.cli._loading import Parts, load_parts
from evichain.evaluation import evaluate
from evichain.ratings import Ratings, load_split

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


def test_all_are_listed_with_what_is_published(run: Run, run_json: RunJson) -> None:
    shown = run("baseline").stdout.splitlines()
    found = {one["name"]: one for one in run_json("baseline")["baselines"]}
    assert found.keys() == BASELINES.keys()
    for name, entry in BASELINES.items():
        assert any(line.split()[0] == name and entry.about in line for line in shown)
    assert {"data": "ml-1m", "split": "random:0.9", "rmse": 0.829} in found["cf-nade"]["published"]


def test_one_is_described_by_its_settings(run: Run, run_json: RunJson) -> None:
    found = run_json("baseline", "nnmf")["settings"]
    assert found["width"] == {"default": 50, "about": "Sigmoid units in each hidden layer."}
    assert "Sigmoid units in each hidden layer." in run("baseline", "nnmf").stdout


def test_a_table_is_read_as_for_training(run_json: RunJson, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("customer_no,sku,points\n1,a,4\n1,b,x\n2,a,3\n2,b,5\n")
    options = ("--columns", "user=customer_no,item=sku,rating=points", "--skip-bad-rows")
    assert run_json("baseline", "biases", table, *options)["train_ratings"] == 3


def test_the_same_figures_as_from_python(run: Run, run_json: RunJson, data: Path) -> None:
    call = ("baseline", "online-mf", data, "--split", "random:0.8", "--seed", 2, "--set")
    found = run_json(*call, "passes=3")
    parts = load_split(str(data), "random:0.8", 2)
    model = make_baseline("online-mf", seed=2, passes=3).fit(parts.train)
    expected = evaluate(model, parts.test)
    assert found["test"]["rmse"] == pytest.approx(expected.rmse)
    assert found["parameters"] == model.parameter_count
    assert found["settings"]["passes"] == 3
    assert (found["seen"], found["published_rmse"]) == (0, None)
    shown = run(*call, "passes=3")
    assert ["test", "RMSE", f"{expected.rmse:.4f}"] in [
        li.split() for li in shown.stdout.split("\n")
    ]
    assert "Training OnlineMF" in shown.stderr


def test_a_reference_is_not_listed_beside_itself(run: Run, data: Path) -> None:
    shown = run("baseline", "biases", data, "--split", "random:0.8").stdout
    table = shown.partition("Beside simple references")[2]
    assert table.count("biases") == 1
    assert "popularity" in table


def test_without_a_split_nothing_is_tested(run_json: RunJson, data: Path) -> None:
    found = run_json("baseline", "prank", data)
    assert (found["test"], found["split"]) == (None, None)
    assert found["train_ratings"] > 300


def test_later_ratings_go_to_those_who_can_take_them(run: Run, data: Path) -> None:
    call = (data, "--split", "users:0.8/5")
    assert "cannot learn from later ratings" in run("baseline", "prank", *call).stderr
    assert "cannot learn from later" not in run("baseline", "online-mf", *call).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["svd"], "no baseline 'svd'"),
        (["nnmf", "nowhere.csv", "--set", "depth=3"], "no setting 'depth'"),
        (["nnmf", "nowhere.csv", "--set", "width=0"], "width"),
        (["nnmf", "nowhere.csv"], "nowhere.csv"),
        (["nnmf", "--split", "random:0.8"], "no data to train on"),
    ],
)
def test_mistakes(refused: Refused, arguments: list[str], said: str) -> None:
    assert said in refused("baseline", *arguments)[0]


def test_a_set_of_the_catalogue_has_its_own_settings_unless_they_are_given(
    run: Run, run_json: RunJson, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(asked: str, split: str | None, seed: int, reading: Any) -> Parts[Ratings]:
        assert asked == "ml-1m"
        return load_parts(str(data), split, seed, reading)

    monkeypatch.setattr(evichain.cli.baseline, "load_parts", small)
    found = run_json("baseline", "biased-mf", "ml-1m", "--set", "epochs=3")["settings"]
    assert (found["factors"], found["epochs"], found["regularization"]) == (50, 3, 0.05)
    told = {"factors": 50, "epochs": 40, "regularization": 0.05}
    assert run_json("baseline", "biased-mf")["settings_by_data"] == {"ml-1m": told}
    assert "on ml-1m and larger: factors=50, epochs=40" in run("baseline", "biased-mf").stderr
