"""Model folders of other versions are refused in plain words."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evichain import REC
from evichain.cli import app
from evichain.errors import ModelError
from evichain.recipes import settings_for
from evichain.spark.shared import Shared

NOW = settings_for("plus").model_dump()
BEFORE = {"max_depth": 3, "newcomers": 0.05, "strangers": 0.02, "crowd": 12288, "together": 1}
FEWER = {name: value for name, value in NOW.items() if name != "unknown_share"}


def a_folder(path: Path, **card: Any) -> Path:
    """A folder as `REC.save` of an earlier version left it, as far as it is read."""
    (path / "graph").mkdir(parents=True)
    (path / "graph" / "graph.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"")
    shape = {"evichain": "0.1.0", "recipe": "plus", "given": {}, "training": {}}
    prototypes = {"prototypes": {"user": [1], "item": [2]}}
    (path / "model.json").write_text(json.dumps({**shape, **prototypes, **card}))
    return path


@pytest.mark.parametrize(
    "card",
    [
        {"format": 1, "settings": BEFORE},
        {"format": 1, "settings": NOW},
        {"settings": BEFORE},
        {"format": 2, "settings": {**NOW, "residual_channel": False}},
        {"format": 2, "settings": FEWER},
    ],
)
def test_a_model_of_an_earlier_version_is_refused(tmp_path: Path, card: dict[str, Any]) -> None:
    folder = a_folder(tmp_path / "old", **card)
    for load in (REC.load, Shared.load):
        with pytest.raises(ModelError) as caught:
            load(folder)
        assert str(caught.value) == (
            f"{folder}: saved by an earlier version of evichain (0.1.0, model format "
            f"{card.get('format', 1)}); this version ({version('evichain')}) reads format 2 with "
            f"its own settings\nTrain it again: evichain train DATA --out {folder} --force. Or use "
            "the version that saved it."
        )
    shown = CliRunner().invoke(app, ["info", str(folder)])
    assert shown.exit_code == 2
    assert "saved by an earlier version of evichain" in " ".join(shown.output.split())
    assert "Traceback" not in shown.output


def test_a_model_of_a_later_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="saved by a later version of evichain"):
        REC.load(a_folder(tmp_path / "new", format=3, settings=NOW))


def test_an_earlier_model_may_be_replaced(tmp_path: Path) -> None:
    from evichain.testing import planted_blocks

    folder = a_folder(tmp_path / "old", format=1, settings=BEFORE)
    model = REC(iterations=2, embedding_size=4, width=8).fit(planted_blocks())
    model.save(folder)
    assert REC.load(folder).predict(0, 0) == model.predict(0, 0)
