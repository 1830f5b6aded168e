from pathlib import Path

import pytest

from evichain.ratings import Ratings
from evichain.ratings.graph import Graph
from evichain.ratings.inputs import as_source
from evichain.testing import planted_blocks


def test_a_name_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    graph = Graph.build(planted_blocks())
    graph.save(tmp_path / "g")
    for name in ("~/g", Path("~/g")):
        found = as_source(name)
        assert isinstance(found, Graph)
        assert found.fingerprint == graph.fingerprint
    planted_blocks().frame.write_csv(tmp_path / "mine.csv")
    assert isinstance(as_source("~/mine.csv"), Ratings)
