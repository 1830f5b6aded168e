"""Test a model, beside simple references, and print the figures: for train, evaluate, baseline."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from evichain.cli._output import Cell, note, print_facts, print_table

if TYPE_CHECKING:
    from evichain.evaluation import Evaluation
    from evichain.protocol import Recommender
    from evichain.ratings import Ratings
    from evichain.ratings.graph import Graph

    class Tested(Recommender, Protocol):
        """A recommender that has its training ratings at hand."""

        @property
        def graph(self) -> Graph:
            """The ratings it answers from."""
            ...


Top = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Also measure lists of N items: all items that a user has not rated are ranked. "
        "An item is relevant if the user rated it at or above the training mean. 0 for no lists.",
    ),
]
ByKnown = Annotated[
    bool,
    typer.Option(
        "--by-known", help="Also show the figures by how many training ratings the users have."
    ),
]

_REFERENCE_NAMES = {"popularity": "popularity", "biases": "shrunken biases"}
_LISTS = {
    "NDCG": "ndcg",
    "recall": "recall",
    "precision": "precision",
    "MRR": "mrr",
    "MAP": "map",
    "coverage": "coverage",
}


def paper_rmse(data: str, split: str | None, seen: int | None = 0) -> float | None:
    """The paper's figure, if it was measured on the same data and split.

    None if the model has `seen` some of the test ratings: then nothing compares with it.

    >>> paper_rmse("ml-100k", "random:0.8")
    0.91
    """
    from evichain.experiments.sources import PAPER_RMSE

    return None if seen else PAPER_RMSE.get((data, split or ""))


def no_scores() -> dict[str, Any]:
    """What `measure_scores` returns, if nothing is tested."""
    return {"test": None, "references": None, "seen": None}


def measure_scores(
    model: "Tested", test: "Ratings", split: str | None, *, top: int = 10, by_known: bool = False
) -> dict[str, Any]:
    """The figures of a model and of the references, which learn from the same ratings.

    Says on stderr what makes the figures worth little.

    Returns:
        `test`, the figures; `references`, theirs by name; `seen`, the number of test ratings
        that the model has as evidence.
    """
    from evichain.baselines import evaluate_references
    from evichain.evaluation import evaluate

    graph, seen = model.graph, count_seen(model.graph, test)
    threshold = float(getattr(model, "training_mean", graph.mean))
    options: dict[str, Any] = {"n": top, "threshold": threshold, "by_known": by_known}
    found = evaluate(model, test, **options, progress=True)
    warn_of_weak_figures(found, seen, split)
    references = evaluate_references(graph, test, **options)
    return {
        "test": found.to_dict(),
        "references": {name: one.to_dict() for name, one in references.items()},
        "seen": seen,
    }


def count_seen(graph: "Graph", ratings: "Ratings") -> int:
    """The number of rated pairs that are in the graph."""
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


def warn_of_weak_figures(evaluation: "Evaluation", seen: int, split: str | None) -> None:
    """Say on stderr what makes the figures of an evaluation worth little."""
    if seen:
        note(
            f"{seen:,} of the {evaluation.ratings:,} test ratings are also training ratings of "
            "the model: the error on them says little"
        )
    if evaluation.impossible == evaluation.ratings:
        why = ""
        if split is not None and split.startswith("users:") and "/" not in split:
            why = f": nothing is known of the users held out ({split}/5 keeps 5 ratings of each)"
        note(
            f"all {evaluation.ratings:,} predictions were impossible, so the error is that of "
            f"the fallback estimate{why}"
        )
    if evaluation.lists and not evaluation.lists.users:
        note(
            "no test user has an unseen item rated at or above the mean, so lists have no NDCG, "
            "recall, precision, MRR and MAP"
        )


def print_scores(
    title: str, name: str, found: Mapping[str, Any], more: Mapping[str, Cell] | None = None
) -> None:
    """Print the figures of a model, then a table with the references beside it.

    Args:
        name: what the model is called in the table.
        more: further facts.
    """
    from evichain.protocol import COVERAGE

    test, facts = found["test"], dict[str, Cell]()
    if test is not None:
        paper = f"   (the paper: {found['paper_rmse']:.3f})" if found.get("paper_rmse") else ""
        if test["rmse"] == test["rmse"]:  # NaN for scores
            facts["test RMSE"] = f"{test['rmse']:.4f}{paper}"
        if found.get("all_evidence_rmse") is not None:
            facts["with all evidence"] = f"{found['all_evidence_rmse']:.4f}"
        if test["interval_coverage"] is not None:
            facts[f"inside {COVERAGE:.0%} intervals"] = f"{test['interval_coverage']:.1%}"
        facts["test ratings"] = test["ratings"]
        facts["impossible predictions"] = test["impossible"]
        facts["ranked users"] = test["lists"] and test["lists"]["users"]
    facts["parameters"] = found["parameters"]
    facts["seconds"] = f"{found['seconds']:.1f}"
    print_facts(title, {**facts, **(more or {})})
    if test is None:
        return
    rows = {name: test}
    others = {key: figures for key, figures in found["references"].items() if key != name}
    rows |= {_REFERENCE_NAMES[key]: figures for key, figures in others.items()}
    print_table(
        "Beside simple references",
        ("", *header_of(test["lists"])),
        [(label, *figures_of(one, one["lists"])) for label, one in rows.items()],
    )
    if test["by_known"]:
        print_table(
            "By the number of training ratings of a user",
            ("known", "users", "ratings", *header_of(test["lists"])),
            [
                (
                    group["known"],
                    group["users"],
                    group["errors"]["ratings"],
                    *figures_of(group["errors"], group["lists"]),
                )
                for group in test["by_known"]
            ],
        )


def header_of(lists: Mapping[str, Any] | None) -> list[str]:
    """The columns of `figures_of`."""
    return ["RMSE", "MAE", *(f"{name}@{lists['n']}" for name in _LISTS if lists)]


def figures_of(errors: Mapping[str, Any], lists: Mapping[str, Any] | None) -> list[str]:
    """The figures of an evaluation as text; nothing for a mean over nobody."""
    values = [errors["rmse"], errors["mae"], *(lists[key] for key in _LISTS.values() if lists)]
    return ["" if value != value else f"{value:.4f}" for value in values]
