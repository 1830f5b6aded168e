"""The first iterations: REC and PMF from the same pretrained prototypes, step by step.

The error is measured on the held-out fifth of the ratings after every step, and
nothing is chosen by it.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from evichain.evidence.pool import Pool
from evichain.experiments.drawing import (
    COLOURS,
    MUTED,
    by_data,
    legend_below,
    note_beside,
    plain_numbers,
)
from evichain.experiments.experiment import Cell, Experiment, Request, Results
from evichain.experiments.report import Report, Table, Value
from evichain.experiments.sources import Source
from evichain.model.chain import Chain
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.splits import Split, random_split
from evichain.recipes import Settings, settings_for
from evichain.training.pretraining import pretrain
from evichain.training.trainer import Trainer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = {"paper": 250, "pmf": 1500, "pmf-larger": 600, "plus": 60}
QUICK_STEPS, SHOWN = 6, 250
LARGER_STEP = 5e-3
PAPER_REC = "under 30"
PAPER_PMF = {"ml-100k": 400, "ml-1m": 360, "ml-10m": 500}
"""Around which iteration PMF comes below an RMSE of 1 in the paper."""

SYSTEMS = {
    "paper": "REC, recipe `paper`",
    "pmf": "PMF",
    "pmf-larger": f"PMF, steps of {LARGER_STEP:g} instead of 0.001",
    "plus": "REC, recipe `plus`, in batches of its own",
}
_COLOURS = {**COLOURS, "pmf-larger": "#93cfc7"}


def settings_given(system: str, source: Source, seed: int) -> dict[str, Any]:
    """The settings that differ from the defaults: the paper's for data of this size."""
    given: dict[str, Any] = {"seed": seed, "validation": 0.0, "validate_every": 1, "patience": 0}
    given["iterations"] = QUICK_STEPS if source.quick else STEPS[system]
    if system == "plus":
        return given
    # The first steps of 2,000, over which the step size would hardly change.
    given |= {"annealing": False}
    if system == "paper":
        return {**given, **source.paper_settings.early}
    no_generators = {"max_depth": 0, "width": 1, "hidden_layers": 1, "centring": False}
    return {
        **given,
        **no_generators,
        "pretrain_iterations": 0,
        "batch_size": source.paper_settings.pmf_batch,
        "learning_rate": LARGER_STEP if system == "pmf-larger" else 1e-3,
    }


def _resolved(system: str, given: Mapping[str, Any], ratings: int) -> Settings:
    """All settings of a system, defaults included."""
    return settings_for("paper" if _is_pmf(system) else system, ratings=ratings, **given)


def _block() -> Settings:
    """The pretraining settings, the same for PMF and REC."""
    return settings_for("paper")


def _is_pmf(system: str) -> bool:
    return system.startswith("pmf")


class Convergence(Experiment):
    """Section 5.1 and its figure."""

    title = "The first iterations, against PMF"
    claim = (
        "REC is below an RMSE of 1 in under 30 iterations on all three data sets, with curves that "
        "are alike; PMF, pretrained the same way, only around iterations 400, 360 and 500 on "
        "ML-100K, ML-1M and ML-10M. EL 80 and MD 4 on ML-100K, 20 and 2 on the others; batches of "
        "1,000 for REC, and of 1,000, 5,000 and 10,000 for PMF."
    )

    def splits(self, source: Source, seed: int) -> Iterable[Split]:
        """A fifth is held out."""
        return [random_split(source.ratings(), 0.8, seed)]

    def cells(self, request: Request) -> Iterable[Cell]:
        """One for each data set, system and seed."""
        for source, system, seed in request.over(SYSTEMS):
            given = settings_given(system, source, seed)
            settings = _resolved(system, given, len(source.ratings())).model_dump()
            of = {"system": system, "seed": seed, "settings": settings}
            if _is_pmf(system):
                of["block"] = _block().model_dump()
            yield Cell(source, of, partial(_measure, source, system, given))

    def report(self, results: Results) -> Report:
        """The step at which each crosses, and the curves."""
        rows: list[list[Value]] = []
        for data in results.distinct("data"):
            for system, name in SYSTEMS.items():
                found = results.where(data=data, system=system)
                if len(found):
                    rows.append([data, name, *_row(found, system)])
        header = ["data", "system", "batch", "the paper: below 1 at", "ours: first below"]
        header += ["ours: below for good", "RMSE at 30", "RMSE at 250", "lowest", "parameters"]
        made = {cell["system"]: len(cell["rmse"]) for cell in results}
        remarks = (
            "Below 1 on a scale from 1 to 5; on another scale, below a quarter of its width. "
            "Steps to cross are counted from 1; a dash: not within the steps made "
            f"({', '.join(f'{steps} for `{system}`' for system, steps in made.items())}). "
            "With several seeds, the median.",
            "PMF's vectors outside the pretrained block start near zero, and Adam moves a "
            "number by about its step size at most, so how soon PMF's estimates reach the range of "
            "ratings depends on it. The paper does not give it; here are REC's, and a larger one.",
            "The recipe `plus` learns from a fifth of all ratings at a step, at most 65,536: "
            "its steps cannot be compared with the others'.",
        )
        size = 5.2 * len(results.distinct("data")) + 1.0, 4.8
        return Report([Table(header, rows)], partial(_draw, results), size, remarks)


def _measure(source: Source, system: str, given: Mapping[str, Any], progress: bool) -> Any:
    split = random_split(source.ratings(), 0.8, given["seed"])
    graph = Graph.build(split.train)
    everyone, settings = _is_pmf(system), _resolved(system, given, len(graph))
    counts = settings.chain.prototype_counts
    if everyone:
        counts = len(graph.ids[Side.USER]), len(graph.ids[Side.ITEM])
    pool = Pool.most_rated(graph, counts)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.training.seed)
        chain = Chain.for_pool(settings.chain, pool, settings.policy.max_depth)
        if everyone:
            _pretrain_block(chain, graph, settings)
    trainer = Trainer(chain, pool, settings.policy, settings.training)
    test = split.test.frame
    users, items = (graph.ids[side].index(test[side.column]) for side in Side)
    trainer.validation = users, items, test["rating"].to_numpy()
    curve: list[float] = []
    with progress_bar(
        "Training", settings.training.iterations, enabled=progress, unit="steps"
    ) as bar:

        def after(step: int, values: dict[str, float]) -> None:
            curve.append(values["validation_rmse"])
            bar(1, rmse=curve[-1])

        trainer.watch = after
        done = trainer.train()
    threshold = (graph.scale.high - graph.scale.low) / 4
    return {
        "rmse": [round(rmse, 5) for rmse in curve],
        "threshold": threshold,
        **crossings(curve, threshold),
        "batch": settings.training.batch_size,
        "parameters": sum(len(p) * p.shape[1] for p in chain.prototypes)
        if everyone
        else chain.parameter_count,
        "seconds_with_test": round(done.seconds, 3),
    }


def crossings(curve: list[float], threshold: float) -> dict[str, int | None]:
    """The step at which a curve is first below a threshold, and from which on it stays there.

    >>> crossings([3.0, 0.9, 1.1, 0.8], 1.0)
    {'first': 2, 'lasting': 4}
    >>> crossings([3.0], 1.0)
    {'first': None, 'lasting': None}
    """
    below = np.array(curve) < threshold
    if not below.any():
        return {"first": None, "lasting": None}
    above = np.flatnonzero(~below)
    lasting = int(above[-1]) + 2 if len(above) else 1
    return {
        "first": int(np.argmax(below)) + 1,
        "lasting": lasting if lasting <= len(curve) else None,
    }


def _pretrain_block(chain: Chain, graph: Graph, settings: Settings) -> None:
    """Pretrain the block of REC's prototypes, as REC does, and nothing else."""
    how = _block()
    block = Pool.most_rated(graph, how.chain.prototype_counts)
    small = Chain.for_pool(settings.chain, block, 0)
    pretrain(small, block, how.training)
    with torch.no_grad():
        for every, few in zip(chain.prototypes, small.prototypes, strict=True):
            # Both pools have the most rated first.
            every[: len(few)] = few


def _row(found: Results, system: str) -> list[Value]:
    one = found.cells[0]
    paper: Value = PAPER_REC if system in ("paper", "plus") else None
    if system == "pmf":
        paper = PAPER_PMF.get(one["paper_name"])
    curves = np.array([cell["rmse"] for cell in found])

    def at(step: int) -> Value:
        return float(curves[:, step - 1].mean()) if step <= curves.shape[1] else None

    batch = one["batch"] if system != "plus" else "a fifth"
    lowest = float(curves.min(axis=1).mean())
    crossed = [_median([cell[name] for cell in found]) for name in ("first", "lasting")]
    return [batch, paper, *crossed, at(30), at(SHOWN), lowest, round(found.mean("parameters"))]


def _median(steps: list[int | None]) -> int | None:
    """The median; None counts as later than any step."""
    ordered = sorted(steps, key=lambda step: float("inf") if step is None else step)
    return ordered[(len(ordered) - 1) // 2]


def _draw(results: Results, figure: "Figure") -> None:
    for axes, of_data in by_data(results, figure):
        for system, name in SYSTEMS.items():
            found = of_data.where(system=system)
            if not len(found):
                continue
            colour = _COLOURS[system]
            curves = np.array([cell["rmse"] for cell in found])
            mean = curves.mean(axis=0)
            axes.plot(np.arange(1, len(mean) + 1), mean, color=colour, label=name.replace("`", ""))
            step = _median([cell["first"] for cell in found])
            if step is not None:
                height = mean[step - 1]
                axes.plot(step, height, "o", color=colour, markersize=5)
                # The lowest curve has room below it only.
                away = -15 if system == "plus" else 7
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.85}
                style = {"ha": "center", "color": colour, "fontweight": "bold", "bbox": box}
                note_beside(axes, str(step), (step, height), (0, away), **style)
        threshold = of_data.cells[0]["threshold"]
        axes.axhline(threshold, color=MUTED, linewidth=1, linestyle=":")
        paper = PAPER_PMF.get(of_data.cells[0]["paper_name"])
        if paper is not None:
            for system, step, iteration in (
                ("paper", 30, "under 30"),
                ("pmf", paper, f"about {paper}"),
            ):
                colour = COLOURS[system]
                axes.plot(step, 0.6 * threshold, "|", color=colour, markersize=12, mew=2)
                said, at = f"the paper: {iteration}", (step, 0.6 * threshold)
                note_beside(axes, said, at, (0, -16), ha="center", color=colour, fontsize=8)
        axes.set_ylim(0.35 * threshold, 3.9 * threshold)
        axes.margins(x=0.08)
        axes.set_xscale("log")
        plain_numbers(axes, "x")
        axes.set_xlabel("iteration")
        axes.set_ylabel("RMSE on the held-out fifth")
    legend_below(figure, 2)
