"""How good a model is: the same figures after training and on their own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evichain.cli._output import Cell, print_facts

if TYPE_CHECKING:
    from evichain.recommender import Evaluation

PAPER_RMSE = {"ml-100k": 0.910, "ml-1m": 0.882, "ml-10m": 0.846}
"""Test RMSE that the paper reports for a random 80/20 split."""

_PAPER_SPLIT = "random:0.8"


def paper_rmse(data: str, recipe: str, split: str | None) -> float | None:
    """The paper's figure, where it was measured on the same data, split and recipe.

    >>> paper_rmse("ml-100k", "paper", "random:0.8")
    0.91
    """
    same = recipe == "paper" and split == _PAPER_SPLIT
    return PAPER_RMSE.get(data) if same else None


def scores(evaluation: "Evaluation | None") -> dict[str, Any]:
    """The figures of an evaluation; None for each where nothing was tested."""
    return {
        "test_rmse": evaluation.rmse if evaluation else None,
        "test_mae": evaluation.mae if evaluation else None,
        "test_ratings": evaluation.ratings if evaluation else None,
        "impossible": evaluation.impossible if evaluation else None,
    }


def print_scores(title: str, found: Mapping[str, Any], more: Mapping[str, Cell]) -> None:
    """Print figures beside the paper's, and what more there is to say."""
    facts: dict[str, Cell] = {}
    if found["test_rmse"] is not None:
        beside = f"   (the paper: {found['paper_rmse']:.3f})" if found["paper_rmse"] else ""
        facts["test RMSE"] = f"{found['test_rmse']:.4f}{beside}"
        facts["test MAE"] = f"{found['test_mae']:.4f}"
        facts["test ratings"] = found["test_ratings"]
        facts["impossible predictions"] = found["impossible"]
    facts["parameters"] = found["parameters"]
    facts["seconds"] = f"{found['seconds']:.1f}"
    print_facts(title, {**facts, **more})
