"""Cold start: the error when some users have only a few ratings to learn from."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evichain.evaluation import evaluate
from evichain.experiments.drawing import COLOURS, MUTED, by_data, legend_below, note_beside
from evichain.experiments.experiment import Cell, Experiment, Request, Results
from evichain.experiments.report import Report, Table, Value
from evichain.experiments.sources import Source, of_users
from evichain.experiments.systems import (
    IN_BRACKETS,
    NAMES,
    make_system,
    mean_rmse,
    scale_of,
    settings_of,
)
from evichain.ratings.splits import Split, cold_split

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYSTEMS = ("paper", "plus", "gc-mc")
COLD_USERS, LEFT = (0, 50, 100, 150), (1, 5, 10)
"""N_c and n_r: how many users, and how many ratings they are left with."""

QUICK_USERS, QUICK_LEFT = (0, 5), (1,)
PAPER_MEAN = 1.15
_STYLES = {1: "o:", 5: "s--", 10: "D-"}
"""A marker and a line for each n_r."""


class ColdStart(Experiment):
    """Section 5.3 and its figure."""

    title = "Users with few ratings"
    claim = (
        "with N_c users of ML-100K cut to n_r ratings, REC's error on the whole validation set "
        "grows as N_c grows and n_r shrinks, much as GC-MC's does; it is above GC-MC's and far "
        "below guessing the mean (1.15). (The figure has no numbers in the text.)"
    )

    systems = SYSTEMS

    def splits(self, source: Source, seed: int) -> Iterable[Split]:
        """Most users cut to most ratings, as fewest have more than those."""
        users, ratings = _sizes(quick=source.quick)
        return [cold_split(source.ratings(), max(users), max(ratings), seed)]

    def cells(self, request: Request) -> Iterable[Cell]:
        """One for each data set, system, N_c, n_r and seed; without cold users one for all n_r."""
        users, ratings = _sizes(quick=request.quick)
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
            tables.append(_grid(of_data, "", f"{data}: RMSE on all users"))
            tables.append(_grid(of_data, "cold_", f"{data}: RMSE on the cold users alone"))
        remarks = (
            "Guessing the mean: that of the training ratings as the only estimate, on the same "
            f"ratings, over all n_r; the paper has {PAPER_MEAN} on all users. N_c = 0 is the "
            "plain random 80/20 split.",
            "REC's and GC-MC's figures are a drawing without numbers in the paper, so ours have "
            "none beside them; GC-MC is trained here.",
            "For each N_c other users are drawn; for each n_r the same ones, where all have more "
            "ratings than that.",
            *([IN_BRACKETS] if results.differ_within("rmse") else []),
        )
        size = 6.4 * len(results.distinct("data")), 4.8
        return Report(tables, partial(_draw, results), size, remarks)


def _sizes(*, quick: bool) -> tuple[Sequence[int], Sequence[int]]:
    """Every N_c and every n_r."""
    return (QUICK_USERS, QUICK_LEFT) if quick else (COLD_USERS, LEFT)


def _measure(
    source: Source, system: str, count: int, left: int, seed: int, progress: bool
) -> dict[str, Any]:
    split = cold_split(source.ratings(), count, left, seed)
    assert split.cold is not None
    model = make_system(system, source, seed).fit(split.train, progress=progress)
    cold = of_users(split.test, split.cold)
    scale = scale_of(split.train)
    found = evaluate(model, split.test, n=0, scale=scale)
    of_cold = evaluate(model, cold, n=0, scale=scale) if len(cold) else None
    return {
        "rmse": found.rmse,
        "rmse_within": found.rmse_within_scale,
        "cold_rmse": of_cold and of_cold.rmse,
        "cold_rmse_within": of_cold and of_cold.rmse_within_scale,
        "mean_rmse": mean_rmse(split.train, split.test),
        "cold_mean_rmse": mean_rmse(split.train, cold) if len(cold) else None,
        "tested": found.ratings,
        "tested_cold": len(cold),
        "impossible": found.impossible,
        "parameters": model.parameter_count,
        "settings": model.settings.model_dump(),
    }


def _grid(results: Results, prefix: str, title: str) -> Table:
    name, mean = f"{prefix}rmse", f"{prefix}mean_rmse"
    measured = Results([cell for cell in results if cell[name] is not None])
    users = measured.distinct("cold")
    rows: list[list[Value]] = []
    for system in results.distinct("system"):
        for left in sorted(results.distinct("left")):
            row: list[Value] = [NAMES[system], left]
            for count in users:
                at = measured.where(system=system, cold=count)
                row.append((at.where(left=left) if count else at).formatted_with_clipped(name))
            rows.append(row)
    guessed = [measured.where(cold=count).mean_known(mean) for count in users]
    rows.append([NAMES["mean"], None, *guessed])
    return Table(["system", "n_r", *(f"N_c = {count}" for count in users)], rows, title)


def _draw(results: Results, figure: "Figure") -> None:
    for axes, of_data in by_data(results, figure):
        for system in of_data.distinct("system"):
            found = of_data.where(system=system)
            for left in sorted(found.distinct("left")):
                points = [
                    (count, at.mean("rmse"))
                    for count in found.distinct("cold")
                    for at in [found.where(cold=count, **({"left": left} if count else {}))]
                    if len(at)
                ]
                label = f"{NAMES[system].replace('`', '')}, {left} left"
                style = _STYLES[left]
                x, y = zip(*points, strict=True)
                axes.plot(x, y, style, markersize=5, color=COLOURS[system], label=label)
        mean = of_data.mean("mean_rmse")
        axes.axhline(mean, color=COLOURS["mean"], linewidth=1, linestyle="-.")
        note_beside(axes, NAMES["mean"], (0, mean), (2, -11), color=MUTED, fontsize=8)
        axes.set_xlabel("cold users, N_c")
        axes.set_ylabel("test RMSE, all users")
    legend_below(figure, len(SYSTEMS), fontsize=8, handlelength=3)
