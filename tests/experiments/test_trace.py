from pathlib import Path

import pytest
from tests.experiments.conftest import Make

from evichain.evidence.trace import Trace
from evichain.experiments.frame import Request
from evichain.experiments.running import run
from evichain.testing import planted_blocks


def test_the_chain_goes_through_something_generated(make: Make, tmp_path: Path) -> None:
    outcome = make("trace")
    (cell,) = outcome.document["cells"]
    trace = Trace.from_dict(cell["found"]["trace"])
    assert not trace.user.prototype
    assert not trace.item.prototype
    through = [piece for piece in trace.user.pieces if not piece.prototype]
    assert any(piece.pieces for piece in through)
    # What is cut is not lost.
    shown = trace.user.own + sum(p.contribution for p in trace.user.pieces)
    assert shown + trace.user.others_contribution == pytest.approx(
        trace.user.contribution, abs=1e-4
    )
    svg = (tmp_path / "trace-ml-100k-0.svg").read_text()
    assert svg == trace.svg()
    (table,) = outcome.document["tables"]
    assert table["rows"][0][5] == trace.estimate


def test_the_film_of_the_paper_is_looked_for(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    planted_blocks(90, 70, density=0.15, seed=3).frame.write_csv(folder / "ratings.csv")
    titles = [f"{item},Film {item}" for item in range(70)]
    # The least rated film, which is no prototype.
    counts = planted_blocks(90, 70, density=0.15, seed=3).frame["item_id"].value_counts()
    film = counts.sort("count", "item_id")["item_id"][12]
    titles[film] = f"{film},Babe (1995)"
    (folder / "movies.csv").write_text("\n".join(["movieId,title", *titles]))
    outcome = run("trace", Request([str(folder)], quick=True), tmp_path / "out")
    (table,) = outcome.document["tables"]
    assert table["rows"][0][4] == "Babe (1995)"


def test_where_everyone_is_a_prototype_that_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "tiny.csv"
    planted_blocks(12, 10).frame.write_csv(path)
    outcome = run("trace", Request([str(path)], quick=True), tmp_path / "out")
    (table,) = outcome.document["tables"]
    assert table["rows"][0][4] is None
