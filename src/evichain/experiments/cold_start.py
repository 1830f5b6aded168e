"""Cold start: the error when some users have but a few ratings to learn from."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from evichain.evaluation import evaluate
from evichain.experiments.drawing import COLOURS, MUTED, by_data
from evichain.experiments.frame import Cell, Experiment, Request, Results
from evichain.experiments.report import Report, Table, Value
from evichain.experiments.sources import Source
from evichain.experiments.systems import NAMES, make_system, mean_rmse, settings_of
from evichain.ratings.splits import cold_split, random_split
from evichain.ratings.table import Ratings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYSTEMS = ("paper", "plus", "gc-mc")
COLD_USERS, LEFT = (0, 50, 100, 150), (1, 5, 10)
"""N_c and n_r: how many users, and how many ratings they are left with."""

QUICK_USERS, QUICK_LEFT = (0, 5), (1,)
PAPER_MEAN = 1.15
_STYLES = {1: ":", 5: "--", 10: "-"}


class ColdStart(Experiment):
    """Section 5.3 and its figure."""

    title = "Users with few ratings"
    claim = (
        "with N_c users of ML-100K cut to n_r ratings, REC's error on the whole validation set "
        "grows as N_c grows and n_r shrinks, much as GC-MC's does; it is above GC-MC's and far "
        "below guessing the mean (1.15). (The figure has no numbers in the text.)"
    )

    def cells(self, request: Request) -> Iterable[Cell]:
        """One for each data set, system, N_c, n_r and seed; without cold users one for all n_r."""
        users = QUICK_USERS if request.quick else COLD_USERS
        ratings = QUICK_LEFT if request.quick else LEFT
        grid = [(count, left) for count in users for left in (ratings if count else ratings[-1:])]
        for source, system, (count, left), seed in request.over(SYSTEMS, grid):
            of = {"system": system, "cold": count, "left": left, "seed": seed}
            settings = settings_of(system, source, seed)
            measure = partial(_measure, source, system, count, left, seed)
            yield Cell(source, {**of, "settings": settings}, measure, shown=list(of))

    def report(self, results: Results) -> Report:
        """The grid of each data set, one row a system and n_r."""
        tables = []
        for data in results.distinct("data"):
            of_data = results.where(data=data)
            for name, title in (("rmse", "all users"), ("cold_rmse", "the cold users alone")):
                tables.append(_grid(of_data, name, f"{data}: RMSE on {title}"))
        remarks = (
            f"The mean of the training ratings as the only estimate: the paper has {PAPER_MEAN}, "
            f"ours is {results.said('mean_rmse')} on the same test parts. N_c = 0 is the plain "
            "random 80/20 split.",
            "REC's and GC-MC's figures are a drawing without numbers in the paper, so ours have "
            "none beside them; GC-MC is trained here.",
        )
        size = 5.6 * len(results.distinct("data")), 4.4
        return Report(tables, partial(_draw, results), size, remarks)


def _measure(
    source: Source, system: str, count: int, left: int, seed: int, progress: bool
) -> dict[str, Any]:
    ratings = source.ratings()
    split = cold_split(ratings, count, left, seed)
    model = make_system(system, source, seed).fit(split.train, progress=progress)
    whole = random_split(ratings, 0.8, seed).train
    cold = _of_those_cut(split.test, whole, split.train)
    found = evaluate(model, split.test)
    return {
        "rmse": found.rmse,
        "cold_rmse": evaluate(model, cold).rmse if len(cold) else None,
        "mean_rmse": mean_rmse(split.train, split.test),
        "tested": found.ratings,
        "tested_cold": len(cold),
        "impossible": found.impossible,
        "parameters": model.parameter_count,
        "settings": model.settings.model_dump(),
    }


def _of_those_cut(test: Ratings, before: Ratings, after: Ratings) -> Ratings:
    """The test ratings of users who have lost ratings."""
    counts = [part.frame.group_by("user_id").len() for part in (before, after)]
    both = counts[0].join(counts[1], on="user_id", how="left", suffix="_after")
    cut = both.filter(pl.col("len") > pl.col("len_after").fill_null(0))["user_id"]
    return test.take(test.frame.select(pl.col("user_id").is_in(cut.implode())).to_series())


def _grid(results: Results, name: str, title: str) -> Table:
    told = Results([cell for cell in results if cell[name] is not None])
    users = told.distinct("cold")
    rows: list[list[Value]] = []
    for system in results.distinct("system"):
        for left in results.distinct("left"):
            row: list[Value] = [NAMES[system], left]
            for count in users:
                at = told.where(system=system, cold=count)
                row.append((at.where(left=left) if count else at).said(name))
            rows.append(row)
    return Table(["system", "n_r", *(f"N_c = {count}" for count in users)], rows, title)


def _draw(results: Results, figure: "Figure") -> None:
    for axes, of_data in by_data(results, figure):
        for system in of_data.distinct("system"):
            found = of_data.where(system=system)
            for left in found.distinct("left"):
                points = [
                    (count, (at.where(left=left) if count else at).mean("rmse"))
                    for count in found.distinct("cold")
                    for at in [found.where(cold=count)]
                ]
                label = f"{NAMES[system].replace('`', '')}, {left} left"
                style = _STYLES.get(left, "-")
                x, y = zip(*points, strict=True)
                axes.plot(x, y, style, marker="o", color=COLOURS[system], label=label)
        mean = of_data.mean("mean_rmse")
        axes.axhline(mean, color=MUTED, linewidth=1, linestyle="-.")
        axes.annotate(
            "guessing the mean",
            (0, mean),
            xytext=(2, -11),
            textcoords="offset points",
            color=MUTED,
            fontsize=8,
        )
        axes.set_xlabel("cold users, N_c")
        axes.set_ylabel("test RMSE, all users")
    figure.axes[0].legend(loc="center right", fontsize=8)
