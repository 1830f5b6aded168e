import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import Result

from evichain.recommender import REC

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


def test_what_a_model_is(run: Run, run_json: RunJson, model: Path, data: Path) -> None:
    found = run_json("info", model)
    loaded = REC.load(model)
    assert found["parameters"] == loaded.parameter_count
    assert found["settings"] == loaded.settings.model_dump()
    assert found["graph"]["ratings"] == len(loaded.graph)
    assert len(found["prototypes"]["user"]) == len(found["prototypes"]["item"]) == 4
    assert found["bytes"] > 1000
    trained = found["training"]
    assert (trained["data"], trained["split"], trained["split_seed"]) == (
        str(data),
        "random:0.8",
        0,
    )
    shown = run("info", model).stdout
    assert "evidence_limit" in shown
    assert re.search(rf"training mean +{loaded.graph.mean:.3f}\n", shown)
    assert "random:0.8" in shown
    assert "Film" in shown


def test_a_damaged_model(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"format": 1')
    assert str(tmp_path) in refused("info", tmp_path)[0]


def test_a_file_is_no_model(refused: Refused, data: Path) -> None:
    assert "there is no model here" in refused("info", data / "ratings.csv")[0]
