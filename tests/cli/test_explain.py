import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import Result

from evichain.recommender import REC

Run = Callable[..., Result]
RunJson = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]


def test_text_json_and_svg_of_one_trace(run: Run, run_json: RunJson, model: Path) -> None:
    trace = REC.load(model).explain(1, 100, 3)
    arguments = ("explain", model, 1, 100, "--pieces", 3)
    assert run(*arguments).stdout == f"{trace.text()}\n"
    found = run_json(*arguments)
    assert found["estimate"] == pytest.approx(trace.estimate)
    parts = found["user"]["contribution"] + found["item"]["contribution"]
    assert found["kind"] == trace.kind
    if trace.kind == "additive":
        assert parts == pytest.approx(found["estimate"], abs=1e-5)
    assert json.loads(run(*arguments, "--format", "json").stdout) == found
    ElementTree.fromstring(run(*arguments, "--format", "svg").stdout)


@pytest.mark.parametrize("name", ["why.svg", "why.json", "why.txt"])
def test_a_file_of_the_kind_that_its_name_tells(
    run: Run, run_json: RunJson, refused: Refused, model: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / name
    arguments = ("explain", model, 1, 100, "--out", out)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (0, "")
    text = out.read_text(encoding="utf-8")
    assert text.startswith({"why.svg": "<", "why.json": "{", "why.txt": "user 1"}[name])
    assert "already exists" in refused(*arguments)[0]
    told = run_json(*arguments, "--force")
    assert (told["user"], told["item"], told["written"]) == ("1", "100", str(out))
    assert list(tmp_path.iterdir()) == [out]


def test_an_ending_that_tells_nothing_is_refused_before_any_work(
    run: Run, refused: Refused, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "why.png"
    first, second = refused("explain", tmp_path / "no model", 1, 100, "--out", out)
    assert first == f"error: {out}: nothing can be written as .png"
    assert all(ending in second for ending in (".txt", ".json", ".svg"))
    assert not out.exists()
    plain = tmp_path / "why"
    assert run("explain", model, 1, 100, "--out", plain).exit_code == 0
    assert plain.read_text(encoding="utf-8").startswith("user 1")
    assert run("explain", model, 1, 100, "--out", out, "--format", "svg").exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["nobody", "100"], "nobody"),
        (["1", "nothing"], "nothing"),
        (["1", "100", "--format", "pdf"], "pdf"),
        (["1", "100", "--pieces", "0"], "--pieces"),
        (["1", "100", "--format", "svg", "--json"], "--json"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    refused: Refused, model: Path, options: list[str], said: str
) -> None:
    assert said in refused("explain", model, *options)[0]
