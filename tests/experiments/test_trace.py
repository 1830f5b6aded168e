from pathlib import Path

import pytest
from tests.experiments.conftest import Make

from evichain.evidence.trace import Piece, Trace
from evichain.experiments.experiment import Measured, Request, Results
from evichain.experiments.running import run
from evichain.experiments.trace import FILM, TraceFigure, _with
from evichain.ratings.side import Side
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


def test_the_film_is_named_though_a_stronger_piece_was_generated_too() -> None:
    proto = Piece(Side.USER, 405, "405", 2, 5.0, True, 0.1, own=0.1)
    strong, film, weak = (
        Piece(Side.ITEM, number, title, 1, 4.0, False, adds, pieces=(proto,))
        for number, (title, adds) in enumerate(
            [("Fargo (1996)", 0.4), (FILM, -0.3), ("Heat (1995)", 0.2)]
        )
    )
    user = Piece(Side.USER, 13, "13", 0, None, False, 0.3, pieces=(strong, weak, film))
    item = Piece(Side.ITEM, 8, "Get Shorty (1995)", 0, None, True, 3.0, own=3.0)
    whole = Trace(_with(user, film), item, 3.3)
    assert [piece.title for piece in whole.user.pieces] == ["Fargo (1996)", FILM, "Heat (1995)"]
    of = {"data": "mine", "system": "paper", "seed": 0, "paper_name": None}
    cell = Measured(of, {"trace": whole.to_dict(), "rating": 4.0}, 1.0)
    ((row,),) = (table.rows for table in TraceFigure().report(Results([cell])).tables)
    assert row[4] == FILM


def test_a_weak_film_is_shown_instead_of_the_weakest() -> None:
    pieces = [
        Piece(Side.ITEM, number, str(number), 1, 4.0, True, adds)
        for number, adds in enumerate([0.4, -0.3, 0.2, 0.01])
    ]
    user = Piece(Side.USER, 13, "13", 0, None, False, 0.31, pieces=tuple(pieces))
    assert [piece.id for piece in _with(user, pieces[3]).pieces] == [0, 1, 3, 2]


def test_where_everyone_is_a_prototype_that_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "tiny.csv"
    planted_blocks(12, 10).frame.write_csv(path)
    outcome = run("trace", Request([str(path)], quick=True), tmp_path / "out")
    (table,) = outcome.document["tables"]
    assert table["rows"][0][4] is None
