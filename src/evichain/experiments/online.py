"""Table 2 and its figure: learn from a fifth of users and items, then meet the others.

The paper's prototypes are the most rated of the whole data set. Here the most rated of the random
four fifths that are not tested are among the first fifth of users and items, and the most rated of
that fifth become prototypes.
"""

from collections.abc import Iterable
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from evichain.evaluation import evaluate
from evichain.experiments.drawing import COLOURS, REPORTED, by_data
from evichain.experiments.experiment import Cell, Experiment, Request, Results
from evichain.experiments.report import Report, Table, Value, formatted
from evichain.experiments.sources import Source
from evichain.experiments.systems import (
    IN_BRACKETS,
    NAMES,
    Growing,
    make_system,
    mean_rmse,
    scale_of,
    settings_of,
)
from evichain.progress import progress as progress_bar
from evichain.ratings.side import Side
from evichain.ratings.splits import Split, growth, growth_split, random_split
from evichain.ratings.table import Ratings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYSTEMS = ("paper", "plus", "online-mf")
"""The systems that accept ratings after training."""

STEP = 0.2
PROTOTYPES = 50
PAPER = {
    "ml-100k": {"rmse": 0.967, "seen": 0.0602, "new": 2020},
    "ml-1m": {"rmse": 0.936, "seen": 0.062, "new": 7951},
    "ml-10m": {"rmse": 0.889, "seen": 0.0603, "new": 65798},
}
"""Table 2 of the paper."""

_COLUMNS = [side.column for side in Side]


class Online(Experiment):
    """Section 5.2."""

    title = "Users and items that come after training"
    claim = (
        "trained on 20 % of rows and columns (about 6 % of the ratings), then given 20 % more of "
        "them at a time without retraining, REC has a test RMSE of 0.967, 0.936 and 0.889 on "
        "everything new in ML-100K, ML-1M and ML-10M, with 0.17 M parameters on each."
    )

    systems = SYSTEMS

    def splits(self, source: Source, seed: int) -> Iterable[Split]:
        """The first fifth, what comes later, and what is tested."""
        return [growth_split(source.ratings(), STEP, seed, prototypes=PROTOTYPES)]

    def cells(self, request: Request) -> Iterable[Cell]:
        """One for each data set, system and seed."""
        for source, system, seed in request.over(SYSTEMS):
            settings = settings_of(system, source, seed)
            of = {"system": system, "seed": seed, "step": STEP, "prototypes": PROTOTYPES}
            yield Cell(
                source, {**of, "settings": settings}, partial(_measure, source, system, seed)
            )

    def report(self, results: Results) -> Report:
        """The paper's table beside ours, and the error at each step."""
        final: list[list[Value]] = []
        steps: list[list[Value]] = []
        for data in results.distinct("data"):
            of_data = results.where(data=data)
            paper = PAPER.get(of_data.cells[0]["paper_name"] or "", {})
            for system in of_data.distinct("system"):
                found = of_data.where(system=system)
                rec = system in ("paper", "plus")
                final.append(
                    [
                        data,
                        NAMES[system],
                        paper.get("rmse") if rec else None,
                        found.formatted_with_clipped("new_rmse", 4),
                        found.formatted("mean_rmse"),
                        "0.17 M" if rec and paper else None,
                        round(found.mean("parameters")),
                        _percent(paper.get("seen")) if rec else None,
                        _percent(found.mean("seen")),
                        paper.get("new") if rec else None,
                        round(found.mean("new_entities")),
                    ]
                )
                steps.append([data, NAMES[system], *_curve_text(found)])
        header = ["data", "system", "the paper", "RMSE on all that is new", "guessing the mean"]
        header += ["parameters: the paper", "ours", "data seen in training: the paper", "ours"]
        header += ["new rows and columns: the paper", "ours"]
        shares = [f"{round(share)} %" for share, _ in _curve(results)]
        tables = [
            Table(header, final, "When all have come"),
            Table(["data", "system", *shares], steps, "RMSE by share of rows and columns there"),
        ]
        remarks = (
            "A random four fifths of the ratings arrive step by step; the rest is tested. At "
            "each step: the test ratings between users and items that have arrived. “All that is "
            "new”: test ratings whose user or item was not in the training part "
            "(`--split growth:0.2` of `evichain train`).",
            "Guessing the mean: of the ratings learned from, on all that is new. Parameters: when "
            "all have come. A hyphen among the steps: there was nothing to test on yet.",
            *([IN_BRACKETS] if results.differ_within("new_rmse") else []),
        )
        size = 5.0 * len(results.distinct("data")) + 0.6, 4.2
        return Report(tables, partial(_draw, results), size, remarks)


def _measure(source: Source, system: str, seed: int, progress: bool) -> dict[str, Any]:
    ratings = source.ratings()
    split = growth_split(ratings, STEP, seed, prototypes=PROTOTYPES)
    assert split.later is not None
    everything = random_split(ratings, 0.8, seed)
    first = {side: split.train.frame[side.column].unique() for side in Side}
    parts = growth(everything.train, STEP, seed, always=first)
    model = make_system(system, source, seed)
    model.fit(split.train, progress=progress)
    assert isinstance(model, Growing)
    # What comes later is on the same scale, of which the first part may not have shown all.
    scale = scale_of(split.train)
    arrived, steps = split.train, []
    with progress_bar("Growing", len(parts), enabled=progress, unit="steps") as bar:
        for number, part in enumerate(parts, 1):
            fresh = _without(part, arrived)
            if number > 1 and len(fresh):
                model.add(fresh.on(scale))
                arrived = part
            last = number == len(parts)
            tested = everything.test if last else _among(everything.test, arrived)
            found = evaluate(model, tested, n=0, scale=scale) if len(tested) else None
            step = {"share": min(1.0, STEP * number), "rmse": found and found.rmse}
            step |= {"rmse_within": found and found.rmse_within_scale, "tested": len(tested)}
            steps.append(step)
            bar(rmse="-" if found is None else found.rmse)
    new = evaluate(model, split.test, n=0, scale=scale)
    met = [ratings.frame[side.column].n_unique() - len(first[side]) for side in Side]
    return {
        "steps": steps,
        "new_rmse": new.rmse,
        "new_rmse_within": new.rmse_within_scale,
        "new_tested": new.ratings,
        "impossible": new.impossible,
        "mean_rmse": mean_rmse(split.train, split.test),
        "parameters": model.parameter_count,
        "settings": model.settings.model_dump(),
        "seen": len(split.train) / len(ratings),
        "new_entities": sum(met),
    }


def _without(ratings: Ratings, known: Ratings) -> Ratings:
    """The ratings that are not known yet."""
    numbered = ratings.frame.with_row_index("row")
    rows = numbered.join(known.frame, on=_COLUMNS, how="anti", maintain_order="left")["row"]
    return ratings.take(rows.to_numpy())


def _among(ratings: Ratings, arrived: Ratings) -> Ratings:
    """The ratings between users and items that have arrived."""
    both = [pl.col(c).is_in(arrived.frame[c].unique().implode()) for c in _COLUMNS]
    return ratings.take(ratings.frame.select(both[0] & both[1]).to_series())


def _curve(found: Results, name: str = "rmse") -> list[tuple[float, float | None]]:
    """The mean error at each step, by percent of rows and columns; None where no cell has one."""
    curve = []
    for steps in zip(*(cell["steps"] for cell in found), strict=True):
        known = [at[name] for at in steps if at.get(name) is not None]
        curve.append((100 * steps[0]["share"], fmean(known) if known else None))
    return curve


def _curve_text(found: Results) -> list[Value]:
    """The error at each step, and of clipped estimates in brackets where all cells have that."""
    means = [rmse for _, rmse in _curve(found)]
    if not all("rmse_within" in at for cell in found for at in cell["steps"]):
        return list(means)
    cut = [rmse for _, rmse in _curve(found, "rmse_within")]
    pairs = [
        (mean, formatted(mean), formatted(within)) for mean, within in zip(means, cut, strict=True)
    ]
    return [f"{plain} ({within})" if within != plain else mean for mean, plain, within in pairs]


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.2%}"


def _draw(results: Results, figure: "Figure") -> None:
    for axes, of_data in by_data(results, figure):
        for system in of_data.distinct("system"):
            found = of_data.where(system=system)
            points = [(share, rmse) for share, rmse in _curve(found) if rmse is not None]
            label = NAMES[system].replace("`", "")
            axes.plot(*zip(*points, strict=True), "o-", color=COLOURS[system], label=label)
            axes.plot(103, found.mean("new_rmse"), "D", color=COLOURS[system], markersize=6)
        paper = PAPER.get(of_data.cells[0]["paper_name"] or "")
        if paper is not None:
            label = "REC in the paper"
            axes.plot(108, paper["rmse"], "_", color=REPORTED, markersize=14, mew=2.5, label=label)
        axes.set_xlabel("% of rows and columns there (♦ all that is new)")
        axes.set_ylabel("test RMSE")
    figure.axes[0].legend(loc="best")
