"""What is known is ordered: nobody is better than the floor, and who knows more errs less."""

from pathlib import Path

from scripts.planted import main

from evichain.ratings import load_ratings
from evichain.ratings.graph import Graph
from evichain.ratings.synthetic import Synthetic


def test_who_knows_more_errs_less(tmp_path: Path) -> None:
    made = tmp_path / "made"
    Synthetic(ratings=2000, users=40, items=400, rank=1, seed=1).write(made)
    errors = main(made, Graph.build(load_ratings(made)))
    assert errors["ratings"] > 50
    assert errors["floor"] < errors["items_known"] < errors["both_learned"]
    assert errors["items_known"] < errors["mean"]
