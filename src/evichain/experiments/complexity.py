"""What the complexity controls save: the paper's counts for a mini-batch, control by control.

Nothing is generated here. A plan knows how often the recursion would ask for each (entity, depth),
and by whom, so that its counters are sums over those: exact, however large (the recursion without
controls makes 10⁹ requests and more for ten ratings at the standard depth).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evichain.evidence.counters import Counters
from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.experiments.drawing import MUTED, panels, plain_numbers, short
from evichain.experiments.experiment import Cell, Experiment, Measured, Request, Results
from evichain.experiments.report import Report, Table, Value
from evichain.experiments.sources import Source
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.training.batches import batch_positions
from evichain.training.trainer import evidence_seed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MINI_BATCH, BATCHES, PROTOTYPES = 10, 20, 50
PAPER_DEPTH = 2
DEPTHS = (PAPER_DEPTH, 3, 4)
"""The paper's figure is of depth 2; 4 is its standard configuration."""

_NO_LIMIT = 2**31
_LIMITED = {"evidence_limit": 80}
_ALL_BUT_BLOCKING = {**_LIMITED, "prototype_prioritization": True, "telescoping": True}
CONTROLS: Mapping[str, Mapping[str, Any]] = {
    "MD": {},
    "+ CB": {"cycle_blocking": True},
    "+ EL": {"cycle_blocking": True, **_LIMITED},
    "+ PP": {"cycle_blocking": True, **_LIMITED, "prototype_prioritization": True},
    "+ TEL": {"cycle_blocking": True, **_ALL_BUT_BLOCKING},
    "all but CB": _ALL_BUT_BLOCKING,
}
"""The controls, added one by one; the last is all of them except cycle blocking."""

_CACHES = {"without": False, "with": True}
_BARE = "MD", "without"
CLAIMS = (
    ("requests, cache alone", "about 100 times", "requests", _BARE, ("MD", "with")),
    ("failed requests, cache alone", "reduced", "failed", _BARE, ("MD", "with")),
    ("generated, EL", "about 2 times", "generated", ("+ CB", "without"), ("+ EL", "without")),
    ("generated, PP", "1.56 times", "generated", ("+ EL", "without"), ("+ PP", "without")),
    ("requests, all", "about 1,000 times", "requests", _BARE, ("+ TEL", "with")),
    ("requests, all but CB", None, "requests", _BARE, ("all but CB", "with")),
    ("generated, all but CB", None, "generated", _BARE, ("all but CB", "with")),
)
"""The savings that the paper claims: name, factor, counter, (controls, cache) before and after."""

BARS = (
    ("without", "generated", "embeddings generated", "#4453c4"),
    ("without", "failed", "failed requests", "#b3263f"),
    ("with", "generated", "embeddings generated, with the cache", "#a9b1ea"),
    ("with", "failed", "failed requests, with the cache", "#eda6b2"),
)
_SHIFTS = (-0.29, -0.11, 0.11, 0.29)


def policy_of(controls: str, depth: int, *, caching: bool) -> Policy:
    """The policy with some of the controls, and no other."""
    none = {
        "evidence_limit": _NO_LIMIT,
        "telescoping": False,
        "prototype_prioritization": False,
        "cycle_blocking": False,
    }
    return Policy(max_depth=depth, caching=caching, **{**none, **CONTROLS[controls]})


def _policies(controls: str, depth: int) -> dict[str, dict[str, Any]]:
    """The policy without the cache and with it."""
    made = {c: policy_of(controls, depth, caching=caching) for c, caching in _CACHES.items()}
    return {cache: policy.model_dump() for cache, policy in made.items()}


def count_batch(pool: Pool, policy: Policy, seed: int, batch: int, size: int) -> Counters:
    """What the recursion would do for a mini-batch of ratings."""
    users, items, _ = pool.graph.pairs(batch_positions(len(pool.graph), size, seed, batch))
    drawn = evidence_seed(seed, batch)
    counters = make_plan(pool, policy, users, items, seed=drawn, counting=True).counters
    assert counters is not None
    return counters


class Complexity(Experiment):
    """Section 4 and its figure."""

    title = "What the complexity controls save"
    claim = (
        "for a mini-batch of 10 on ML-100K at a max depth of 2, caching reduces requests by two "
        "orders of magnitude and failed requests with them; the evidence limit (80) roughly halves "
        "the embeddings generated; prototype prioritization takes away 36 % of them; all controls "
        "together save three orders of magnitude. (Its figure has no numbers in the text.)"
    )

    def cells(self, request: Request) -> Iterable[Cell]:
        """One for each data set, depth and seed."""
        batches = 2 if request.quick else BATCHES
        for source, depth, seed in request.over(DEPTHS):
            policies = {name: _policies(name, depth) for name in CONTROLS}
            of = {"depth": depth, "seed": seed, "batches": batches, "batch": MINI_BATCH}
            of |= {"prototypes": PROTOTYPES, "policies": policies}
            measure = partial(_measure, source, depth, seed, batches)
            yield Cell(source, of, measure, shown=("depth", "seed"))

    def report(self, results: Results) -> Report:
        """A table for each data set and depth, and the paper's claims beside ours."""
        tables = []
        for data in results.distinct("data"):
            of_data = results.where(data=data)
            for depth in of_data.distinct("depth"):
                found = of_data.where(depth=depth)
                header = ["controls", "requests", "embeddings generated", "failed requests"]
                header += [f"{name}, cached" for name in header[1:]]
                rows = [_row(found, controls) for controls in CONTROLS]
                tables.append(Table(header, rows, f"{data}, max depth {depth}"))
            tables.append(_claims(of_data, data))
        remarks = (
            f"Means over mini-batches of {MINI_BATCH} of all ratings, {PROTOTYPES} + "
            f"{PROTOTYPES} prototypes. Counted from the plan, which equals the recursion's own "
            "counters exactly (`tests/experiments/test_complexity.py`).",
            "With cycle blocking an embedding depends on who asks for it, so the cache has an "
            "entry for each who asks and helps less; the paper does not say whether its cache "
            "knows who asks. Without cycle blocking it is the same for all.",
        )
        size = 14.0, 3.9 * len(results.distinct("data"))
        return Report(tables, partial(_draw, results), size, remarks)


def _measure(source: Source, depth: int, seed: int, batches: int, progress: bool) -> dict[str, Any]:
    graph = Graph.build(source.ratings())
    pool = Pool.most_rated(graph, (PROTOTYPES, PROTOTYPES))
    found: dict[str, Any] = {}
    cells = [(controls, cache) for controls in CONTROLS for cache in _CACHES]
    with progress_bar("Counting", len(cells) * batches, enabled=progress, unit="batches") as bar:
        for controls, cache in cells:
            policy = policy_of(controls, depth, caching=_CACHES[cache])
            counted = []
            for batch in range(batches):
                counted.append(asdict(count_batch(pool, policy, seed, batch, MINI_BATCH)))
                bar()
            means = {name: fmean(one[name] for one in counted) for name in counted[0]}
            found.setdefault(controls, {})[cache] = means
    return found


def _figure(found: Results, controls: str, cache: str, name: str) -> float:
    def of(cell: Measured) -> float:
        value: float = cell.found[controls][cache][name]
        return value

    return fmean(map(of, found))


def _row(found: Results, controls: str) -> list[Value]:
    names = ("requests", "generated", "failed")
    figures = [round(_figure(found, controls, c, n)) for c in _CACHES for n in names]
    return [controls, *figures]


def _claims(results: Results, data: str) -> Table:
    """The paper's ratios beside ours, for every depth."""
    depths = results.distinct("depth")
    rows: list[list[Value]] = []
    for label, paper, name, before, after in CLAIMS:
        row: list[Value] = [label, paper]
        for depth in depths:
            found = results.where(depth=depth)
            much, little = (_figure(found, *at, name) for at in (before, after))
            row.append(f"{short(much / max(1.0, little))} times")
        rows.append(row)
    header = ["saved", "the paper (depth 2)", *(f"ours, depth {depth}" for depth in depths)]
    return Table(header, rows, f"{data}: how many times less")


def _draw(results: Results, figure: "Figure") -> None:
    datas = results.distinct("data")
    rows = figure.subfigures(len(datas), 1, squeeze=False)[:, 0]
    for row, data in zip(rows, datas, strict=True):
        found = results.where(data=data)
        shown = found.distinct("depth")
        titles = [f"{data}, max depth {depth}" for depth in shown]
        for axes, depth in zip(panels(row, titles), shown, strict=True):
            at = found.where(depth=depth)
            for position, controls in enumerate(CONTROLS):
                for shift, (cache, name, _, colour) in zip(_SHIFTS, BARS, strict=True):
                    height = _figure(at, controls, cache, name)
                    axes.bar(position + shift, height, 0.17, color=colour)
            if axes.dataLim.y1 > 0:  # where everybody is a prototype, nothing is generated
                axes.set_yscale("log")
            plain_numbers(axes)
            axes.set_xticks(range(len(CONTROLS)), list(CONTROLS))
            axes.grid(axis="x", visible=False)
        row.supylabel("for a mini-batch of 10", color=MUTED, fontsize=9)
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=label) for _, _, label, colour in BARS]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
