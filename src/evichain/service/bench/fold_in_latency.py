"""The latency of a guest's list, in this process, beside that of implicit's ALS.

Both get the same ratings in turn, both go over the whole catalogue. The weights of either model
do not matter: the arithmetic is the same whatever they are.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from evichain.answering.answers import best_items
from evichain.answering.row_evidence import user_output
from evichain.kernels import Floats, Longs
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.service.bench.request_mix import RATED
from evichain.service.live.snapshot import Snapshot

_LISTED = 10
_FACTORS = 32
_WARM_UP = 50

Ask = Callable[[Longs, Floats], object]


def bench_fold_in(
    snapshot: Snapshot, graph: Graph, *, rounds: int = 500, seed: int = 0
) -> dict[str, float | None]:
    """The median milliseconds of a list for someone new, and their ratio.

    `foldin_ratio` is ours over implicit's, None where implicit is not installed.
    """
    draw = np.random.default_rng(seed)
    known, scale = len(graph.ids[Side.ITEM]), graph.scale
    levels = scale.levels if scale.levelled else (scale.low, scale.high)
    askers: dict[str, Ask] = {"foldin_ms": _ours(snapshot)}
    theirs = _theirs(graph)
    if theirs is not None:
        askers["foldin_implicit_ms"] = theirs
    took: dict[str, list[float]] = {name: [] for name in askers}
    for _ in range(_WARM_UP + rounds):
        items = draw.choice(known, min(RATED, known), replace=False)
        ratings = draw.choice(levels, len(items)).astype(np.float32)
        for name, ask in askers.items():
            begun = time.perf_counter()
            ask(items, ratings)
            took[name].append(time.perf_counter() - begun)
    found: dict[str, float | None] = {
        name: median(seconds[_WARM_UP:]) * 1000 for name, seconds in took.items()
    }
    ours, other = found["foldin_ms"], found.setdefault("foldin_implicit_ms", None)
    found["foldin_ratio"] = ours / other if ours and other else None
    return found


def _ours(snapshot: Snapshot) -> Ask:
    def ask(items: Longs, ratings: Floats) -> object:
        row = snapshot.guest_row(items.astype(np.int32), ratings)
        return best_items(snapshot, user_output(snapshot, row), _LISTED, row[0])

    return ask


def _theirs(graph: Graph) -> Ask | None:
    try:
        from implicit.cpu.als import AlternatingLeastSquares
        from scipy.sparse import csr_matrix
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        return None
    rows = graph.rows[Side.USER]
    shape: Any = tuple(len(graph.ids[side]) for side in Side)
    model = AlternatingLeastSquares(
        factors=_FACTORS, iterations=2, num_threads=1, random_state=0, dtype=np.float32
    )
    # It refuses to work beside a BLAS with threads of its own, and is slow if it has to.
    with threadpool_limits(1, "blas"):
        values = graph.scale.decode(rows.codes)
        model.fit(csr_matrix((values, rows.indices, rows.indptr), shape), show_progress=False)

    def ask(items: Longs, ratings: Floats) -> object:
        one = csr_matrix((ratings, items, [0, len(items)]), (1, shape[1]))
        return model.recommend(0, one, N=_LISTED, recalculate_user=True)

    return ask
