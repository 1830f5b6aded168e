"""How the cost of a step and the memory grow with the data, on synthetic ratings.

Each piece of work runs in its own process, because the system only reports the peak memory of a
whole process.
"""

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from evichain.atomic_write import write_file_atomically
from evichain.errors import SettingsError
from evichain.evidence.pool import Pool
from evichain.ratings.conversion import convert_parquet
from evichain.ratings.graph import Graph
from evichain.ratings.synthetic import Synthetic
from evichain.recommender import REC
from evichain.resources import in_own_process, peak_bytes
from evichain.training.trainer import make_batch

_WARM_UP = 3
_OWN_SETTINGS = {"iterations", "validation", "patience", "seed"}
"""Settings that the benchmark sets itself."""

Figures = dict[str, Any]
Say = Callable[[str], None]


def bench_scale(
    sizes: Sequence[int],
    cache: Path,
    *,
    recipe: str = "plus",
    changes: Mapping[str, Any] | None = None,
    seed: int = 0,
    repeats: int = 10,
    say: Say = lambda line: None,
) -> Figures:
    """Generate sets of ratings, convert them to graphs and train on these for some steps.

    Args:
        sizes: how many ratings the sets have.
        cache: where sets and graphs are kept for the next time.
        changes: settings in place of the recipe's.
        repeats: steps to take the median of.

    Returns `sizes`, with the seconds of each piece of work, those in which it had a processor,
    and its peak memory, and which of them were `kept` from an earlier run, perhaps with another
    version or machine; `step_ratio`, a step on the largest set over one on the smallest, and the
    same for processor time, for busy machines; and `peak_bytes`, the
    most memory of all.
    """
    for name in sorted(_OWN_SETTINGS & (changes or {}).keys()):
        right = "The benchmark trains for `repeats` timed steps, without validation."
        raise SettingsError("is set by the benchmark", where=name, right=right)
    cache.mkdir(parents=True, exist_ok=True)
    found = []
    for size in sorted(sizes):
        base = cache / f"{size}-{seed}"
        kept = [work for work in ("generate", "convert") if _figures_path(base, work).exists()]
        made = _measured_once(base, "generate", say, _generate, size, seed, base)
        graph = _measured_once(base, "convert", say, _convert, base)
        say(f"{size:,} ratings: {repeats} steps")
        steps = in_own_process(_train, base, recipe, dict(changes or {}), seed, repeats)
        found.append({**made, **graph, **steps, "kept": kept})
    memory = [
        one[f"{work}_peak_bytes"] for one in found for work in ("generate", "convert", "step")
    ]
    return {
        "sizes": found,
        "step_ratio": found[-1]["step_seconds"] / found[0]["step_seconds"],
        "step_cpu_ratio": found[-1]["step_cpu_seconds"] / found[0]["step_cpu_seconds"],
        "parameters": found[-1]["parameters"],
        "peak_bytes": max((peak for peak in memory if peak), default=None),
    }


def _figures_path(base: Path, name: str) -> Path:
    """The file with the figures of a piece of work."""
    return base / f"{name}.json"


def _measured_once(
    base: Path, name: str, say: Say, work: Callable[..., Figures], *arguments: Any
) -> Figures:
    """The figures of a piece of work, which is done unless an earlier run has done it."""
    path = _figures_path(base, name)
    if path.exists():
        say(f"{base.name}: {name}, reused from an earlier run")
    else:
        say(f"{base.name}: {name}")
        base.mkdir(exist_ok=True)
        found = json.dumps(in_own_process(work, *arguments))
        with write_file_atomically(path) as made:
            made.write_text(found + "\n")
    figures: Figures = json.loads(path.read_text())
    return figures


class _Clock:
    """Measures a piece of work that begins now."""

    def __init__(self) -> None:
        self._begun = time.perf_counter(), time.process_time()

    def figures(self, name: str) -> Figures:
        return {
            f"{name}_seconds": time.perf_counter() - self._begun[0],
            f"{name}_cpu_seconds": time.process_time() - self._begun[1],
            f"{name}_peak_bytes": peak_bytes(),
        }


def _generate(size: int, seed: int, base: Path) -> Figures:
    folder = base / "ratings"
    shutil.rmtree(folder, ignore_errors=True)  # incomplete, if a run was interrupted
    clock = _Clock()
    card = Synthetic(size, seed=seed).write(folder)
    kept = ("ratings", "users", "items", "floor_rmse", "mean_rmse")
    return {name: card[name] for name in kept} | clock.figures("generate")


def _convert(base: Path) -> Figures:
    folder = base / "graph"
    shutil.rmtree(folder, ignore_errors=True)
    clock = _Clock()
    convert_parquet(base / "ratings", folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return clock.figures("convert") | {"graph_bytes": size}


def _train(base: Path, recipe: str, changes: Mapping[str, Any], seed: int, repeats: int) -> Figures:
    """Train for some steps through the public interface, and time each of them."""
    graph = Graph.load(base / "graph")
    settings = {"iterations": _WARM_UP + repeats, "validation": 0, "patience": 0, "seed": seed}
    ends = list[tuple[float, float]]()
    model = REC(recipe, **{**changes, **settings}).fit(
        graph, watch=lambda *_: ends.append((time.perf_counter(), time.process_time()))
    )
    steps = [(after[0] - last[0], after[1] - last[1]) for last, after in pairwise(ends)]
    seconds, busy = (median(times[_WARM_UP - 1 :]) for times in zip(*steps, strict=True))
    chosen = model.settings
    pool = Pool.most_rated(graph, chosen.chain.prototype_counts)
    peak = peak_bytes()
    plan = make_batch(pool, chosen.policy, chosen.training, 0).plan
    return {
        "step_seconds": seconds,
        "step_cpu_seconds": busy,
        "step_peak_bytes": peak,
        "batch_size": chosen.training.batch_size,
        "evidence_limit": chosen.policy.evidence_limit,
        "pairs": plan.pairs,
        "links": plan.links,
        "parameters": model.parameter_count,
    }
