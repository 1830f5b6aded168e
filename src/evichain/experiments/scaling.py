"""What growing data costs: seconds an iteration, parameters and memory by number of ratings.

Each measurement has a process of its own, so that the memory of one is not counted in the next.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from evichain.bench import bench_step
from evichain.experiments.drawing import COLOURS, REPORTED, legend_below, panels, plain_numbers
from evichain.experiments.experiment import Cell, Experiment, Request, Results
from evichain.experiments.report import Report, Table, Value
from evichain.experiments.sources import Source
from evichain.experiments.systems import NAMES
from evichain.progress import progress as progress_bar
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import Settings, settings_for
from evichain.resources import in_own_process

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = (1.0, 0.5, 0.25)
"""Of the users of each data set, to have sizes in between."""

SYSTEMS = ("paper", "plus", "pmf")
REPEATS, QUICK_REPEATS = 5, 1
PAPER_SECONDS = {"ml-100k": 10, "ml-1m": 45, "ml-10m": 70}
PAPER_RATINGS = {"ml-100k": 100_000, "ml-1m": 1_000_209, "ml-10m": 10_000_054}
PAPER_PARAMETERS = "0.17 M"


class Scaling(Experiment):
    """The claims of section 5.1 on time and size."""

    title = "Time, parameters and memory by number of ratings"
    claim = (
        "REC's parameters (0.17 M) do not grow with the data; an iteration takes around 10, 45 and "
        "70 seconds on ML-100K, ML-1M and ML-10M (with EL 80, MD 4 on the first and EL 20, MD 2 on "
        "the others)."
    )

    def cells(self, request: Request) -> Iterable[Cell]:
        """One for each data set, share of its users, system and seed."""
        shares = SHARES[:1] if request.quick else SHARES
        repeats = QUICK_REPEATS if request.quick else REPEATS
        for source, share, system, seed in request.over(shares, SYSTEMS):
            settings = step_settings(system, source, source.part(share), seed).model_dump()
            of = {"system": system, "share": share, "seed": seed, "repeats": repeats}
            measure = partial(_alone, source, system, share, seed, repeats)
            shown = "system", "share", "seed"
            yield Cell(source, {**of, "settings": settings}, measure, shown)

    def report(self, results: Results) -> Report:
        """A row for each size and system."""
        rows: list[list[Value]] = []
        for found in _sizes(results):
            one = found.cells[0]  # the part of the users is the same for every seed
            whole = one["share"] == 1
            ours = one["system"] == "paper" and whole
            rows.append(
                [
                    NAMES[one["system"]],
                    one["data"] if whole else f"{one['data']}, {one['share']:.0%} of users",
                    one["ratings"],
                    one["users"] + one["items"],
                    found.formatted("seconds", 4),
                    PAPER_SECONDS.get(one["paper_name"]) if ours else None,
                    one["parameters"],
                    PAPER_PARAMETERS if ours else None,
                    f"{one['graph_bytes'] / 1e6:.1f} MB",
                    _megabytes(found.mean_known("peak_bytes")),
                ]
            )
        header = ["system", "data", "ratings", "users and items", "seconds an iteration"]
        header += ["the paper", "parameters", "the paper", "graph", "peak of the process"]
        remarks = (
            "The recipe `paper` with one setting for every size (its standard: EL 80, MD 4, "
            "batches of 1,000), so that sizes compare; `plus` with its own, which follow the size "
            "of the data up to a million ratings and bound a step beyond (batches of a fifth of "
            "the ratings, at most 65,536); PMF in the paper's batches. The median of "
            f"{REPEATS} steps, each with the next step's plan made alongside.",
            "The peak holds everything: Python, PyTorch, compiled kernels, the ratings as a table "
            "while they are loaded, the graph, and the steps with one plan ahead.",
        )
        return Report([Table(header, rows)], partial(_draw, results), (13.0, 4.2), remarks)


def step_settings(system: str, source: Source, ratings: Ratings, seed: int) -> Settings:
    """How a step is made: with the same limits for every size in the paper's form."""
    given: dict[str, Any] = {"seed": seed}
    if source.quick and system == "plus":
        given |= {"batch_size": 1000, "evidence_limit": 32}
    if system != "pmf":
        return settings_for(system, ratings=len(ratings), **given)
    users, items = (ratings.frame[side.column].n_unique() for side in Side)
    # Nobody is generated: the smallest generators will do, and are not counted.
    return settings_for(
        "paper",
        **given,
        prototype_users=users,
        prototype_items=items,
        max_depth=0,
        width=1,
        hidden_layers=1,
        batch_size=source.paper_settings.pmf_batch,
    )


def measure(source: Source, system: str, share: float, seed: int, repeats: int) -> dict[str, Any]:
    """What a step costs."""
    ratings = source.part(share)
    settings = step_settings(system, source, ratings, seed)
    found: Mapping[str, Any] = bench_step(ratings, settings, repeats=repeats, reference=False)
    users, items = (ratings.frame[side.column].n_unique() for side in Side)
    vectors = (users + items) * settings.chain.embedding_size
    return {
        "ratings": len(ratings),
        "users": users,
        "items": items,
        "seconds": found["seconds"],
        "parameters": vectors if system == "pmf" else found["parameters"],
        "pairs": found["pairs"],
        "links": found["links"],
        "graph_bytes": round(found["bytes_per_rating"] * len(ratings)),
        "peak_bytes": found["step_peak_bytes"],
        "batch": settings.training.batch_size,
    }


def _alone(
    source: Source, system: str, share: float, seed: int, repeats: int, progress: bool
) -> dict[str, Any]:
    """Measure in a process of its own."""
    with progress_bar("Steps", None, enabled=progress):
        return in_own_process(measure, source, system, share, seed, repeats)


def _sizes(results: Results) -> list[Results]:
    """What all seeds found of each system, data set and share, smaller data first."""
    kinds = dict.fromkeys((cell["system"], cell["data"], cell["share"]) for cell in results)
    found = [results.where(system=s, data=data, share=share) for s, data, share in kinds]
    order = {system: position for position, system in enumerate(SYSTEMS)}
    return sorted(found, key=lambda at: (order[at.cells[0]["system"]], at.cells[0]["ratings"]))


def _megabytes(count: float | None) -> str | None:
    return None if count is None else f"{count / 1e6:,.0f} MB"


def _draw(results: Results, figure: "Figure") -> None:
    titles = {
        "seconds": "Seconds an iteration",
        "parameters": "Parameters",
        "peak_bytes": "Peak memory (bytes)",
    }
    for axes, name in zip(panels(figure, list(titles.values())), titles, strict=True):
        for system in SYSTEMS:
            sizes = _sizes(results.where(system=system))
            points = [(at.cells[0]["ratings"], at.mean_known(name)) for at in sizes]
            points = [(ratings, mean) for ratings, mean in points if mean is not None]
            if points:
                label = NAMES[system].replace("`", "")
                axes.plot(*zip(*points, strict=True), "o-", color=COLOURS[system], label=label)
        if name == "seconds":
            asked = {cell["paper_name"] for cell in results}
            paper = [(PAPER_RATINGS[d], s) for d, s in PAPER_SECONDS.items() if d in asked]
            if paper:
                axes.plot(
                    *zip(*paper, strict=True), "s--", color=REPORTED, label="REC in the paper"
                )
        elif name == "parameters":
            axes.axhline(0.17e6, color=REPORTED, linestyle="--", label="REC in the paper")
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_numbers(axes, "x")
        plain_numbers(axes)
        axes.set_xlabel("ratings")
    legend_below(figure)
