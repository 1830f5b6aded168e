"""How good a model is: the same figures after training and on their own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evichain.cli._output import Cell, note, print_facts

if TYPE_CHECKING:
    from evichain.evaluation import Evaluation
    from evichain.ranking import Ranking
    from evichain.ratings import Ratings
    from evichain.ratings.graph import Graph


def paper_rmse(data: str, split: str | None, seen: int | None = 0) -> float | None:
    """The paper's figure, where it was measured on the same data with such a split.

    Nothing compares with it when the model has `seen` some of the ratings it is tested on.

    >>> paper_rmse("ml-100k", "random:0.8")
    0.91
    """
    from evichain.recipes import PAPER_RMSE

    return None if seen else PAPER_RMSE.get((data, split or ""))


def scores(evaluation: "Evaluation | None") -> dict[str, Any]:
    """The figures of an evaluation; None for each where nothing was tested."""
    return {
        "test_rmse": evaluation.rmse if evaluation else None,
        "test_mae": evaluation.mae if evaluation else None,
        "test_ratings": evaluation.ratings if evaluation else None,
        "impossible": evaluation.impossible if evaluation else None,
        "covered": evaluation.covered if evaluation else None,
    }


def ranks(ranking: "Ranking | None") -> dict[str, Any]:
    """The figures of a ranking; None for each, and lists of 0 items, where it was skipped."""
    return {
        "ndcg": ranking.ndcg if ranking else None,
        "recall": ranking.recall if ranking else None,
        "coverage": ranking.coverage if ranking else None,
        "top": ranking.n if ranking else 0,
        "ranked_users": ranking.users if ranking else None,
    }


def count_seen(graph: "Graph", ratings: "Ratings") -> int:
    """How many of the rated pairs the graph has."""
    import numpy as np

    from evichain.ratings import Side

    users, items = (
        graph.ids[side].index(ratings.frame[side.column]).astype(np.int64) for side in Side
    )
    both = (users >= 0) & (items >= 0)
    rows = graph.rows[Side.USER]
    wide = len(graph.ids[Side.ITEM])
    have = np.repeat(np.arange(len(rows)), rows.degrees) * wide + rows.indices
    return int(np.isin(users[both] * wide + items[both], have).sum())


def say_doubts(evaluation: "Evaluation", seen: int, split: str | None) -> None:
    """Say on stderr what makes the figures of an evaluation worth little."""
    if seen:
        note(
            f"{seen:,} of the {evaluation.ratings:,} ratings tested on are among those that the "
            "model has as evidence: the error on them says little"
        )
    if evaluation.impossible == evaluation.ratings:
        why = ""
        if split is not None and split.startswith("users:") and "/" not in split:
            why = f": nothing is known of the users held out ({split}/5 keeps 5 ratings of each)"
        note(
            f"all {evaluation.ratings:,} predictions were impossible, so the error is that of "
            f"what is usual{why}"
        )


def say_unranked(ranking: "Ranking") -> None:
    """Say on stderr when nobody could show whether lists are good."""
    if not ranking.users:
        note(
            "no user has a rating at or above the mean that the model has not seen, so lists "
            "have no NDCG and no recall"
        )


def print_scores(title: str, found: Mapping[str, Any], more: Mapping[str, Cell]) -> None:
    """Print figures beside the paper's, and what more there is to say."""
    from evichain.protocol import COVERAGE

    facts: dict[str, Cell] = {}
    if found["test_rmse"] is not None:
        beside = f"   (the paper: {found['paper_rmse']:.3f})" if found["paper_rmse"] else ""
        facts["test RMSE"] = f"{found['test_rmse']:.4f}{beside}"
        if found.get("all_evidence_rmse") is not None:
            facts["with all evidence"] = f"{found['all_evidence_rmse']:.4f}"
        facts["test MAE"] = f"{found['test_mae']:.4f}"
        if found["covered"] is not None:
            facts[f"within {COVERAGE:.0%} intervals"] = f"{found['covered']:.1%}"
        facts["test ratings"] = found["test_ratings"]
        facts["impossible predictions"] = found["impossible"]
    if found.get("top"):
        facts |= _ranking_facts(found)
    facts["parameters"] = found["parameters"]
    facts["seconds"] = f"{found['seconds']:.1f}"
    print_facts(title, {**facts, **more})


def _ranking_facts(found: Mapping[str, Any]) -> dict[str, Cell]:
    """The figures of a ranking as they are printed; no means where there was nobody."""
    n, users = found["top"], found["ranked_users"]
    return {
        f"NDCG@{n}": f"{found['ndcg']:.4f}" if users else None,
        f"recall@{n}": f"{found['recall']:.4f}" if users else None,
        f"coverage@{n}": f"{found['coverage']:.4f}",
        "ranked users": users,
    }
