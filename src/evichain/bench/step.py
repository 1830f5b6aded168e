"""Benchmarks of a training step, as ratios measured in one process.

Times differ between machines and moments. What can be compared is the ratio of a step to dense
products of the same size, and to the recursion that it replaces.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import torch
from torch import Tensor

from evichain.bench.products import Shape, block_products, ratio, seconds_of_products
from evichain.evidence.plan import Plan
from evichain.evidence.pool import Pool
from evichain.model.chain import Chain, RequestRows
from evichain.model.reference import Recursion
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import Settings
from evichain.resources import peak_bytes
from evichain.training.memory import keep_freed_memory
from evichain.training.prefetch import prefetched
from evichain.training.trainer import Batch, Draw, draw_step, loss_between, loss_of, make_batch

_WARM_UP = 3


def bench_step(
    ratings: Ratings,
    settings: Settings,
    *,
    repeats: int = 20,
    reference: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Measure a training step.

    Returns `seconds` a step (with the next step's plan made alongside), `step_peak_bytes` (the
    most memory by the end of the steps), `gemm_ratio` (a step over dense products of its
    sizes), `reference_ratio` (a step by recursion over one of ours) and what the step consists
    of. The recursion keeps millions of small tensors when cycles are blocked, so both sides of
    `reference_ratio` run without cycle blocking.
    """
    begun = time.perf_counter()
    graph = Graph.build(ratings)
    graph_seconds, graph_peak = time.perf_counter() - begun, peak_bytes()
    pool = Pool.most_rated(graph, settings.chain.prototype_counts)
    say(f"{graph}: a step {repeats} times")
    result = _against_gemm(pool, settings, repeats)
    result["graph_seconds"] = graph_seconds
    result["graph_peak_bytes"] = graph_peak
    result["bytes_per_rating"] = graph.nbytes / len(graph)
    if reference:
        unblocked = replace(
            settings, policy=settings.policy.model_copy(update={"cycle_blocking": False})
        )
        say("the same step by recursion, once")
        ours = _against_gemm(pool, unblocked, max(3, repeats // 2))["seconds"]
        theirs = _recursion_seconds(pool, unblocked)
        result["reference_seconds"] = theirs
        result["reference_ratio"] = theirs / ours
    return result


def _against_gemm(pool: Pool, settings: Settings, repeats: int) -> dict[str, Any]:
    keep_freed_memory()
    chain, optimizer = _fresh(pool, settings)
    policy, training = settings.policy, settings.training
    plan_times: list[float] = []

    def make(step: int) -> Batch:
        begun = time.perf_counter()
        batch = make_batch(pool, policy, training, step)
        plan_times.append(time.perf_counter() - begun)
        return batch

    step_times, products = [], list[list[Shape]]()
    last = time.perf_counter()
    for batch in prefetched(make, range(_WARM_UP + repeats)):
        _step(chain, optimizer, batch, settings.training.regularization)
        now = time.perf_counter()
        step_times.append(now - last)
        # Not the plan itself: it may take gigabytes, and training releases it too.
        products.append(step_products(batch.plan, chain))
        last = time.perf_counter()
    peak = peak_bytes()
    # After the steps, because making a plan at the same time would slow the products down.
    gemm_times = [seconds_of_products(shapes, backward=True) for shapes in products]
    step_times, gemm_times = step_times[_WARM_UP:], gemm_times[_WARM_UP:]
    return {
        "seconds": median(step_times),
        "gemm_seconds": median(gemm_times),
        "gemm_ratio": ratio(median(step_times), median(gemm_times)),
        "plan_seconds": median(plan_times[_WARM_UP:]),
        "step_peak_bytes": peak,
        "pairs": batch.plan.pairs,
        "links": batch.plan.links,
        "parameters": chain.parameter_count,
    }


def _fresh(pool: Pool, settings: Settings) -> tuple[Chain, torch.optim.Adam]:
    torch.manual_seed(settings.training.seed)
    chain = Chain.for_pool(settings.chain, pool, settings.policy.max_depth)
    return chain, torch.optim.Adam(chain.parameters(), lr=settings.training.learning_rate)


def _step(chain: Chain, optimizer: torch.optim.Adam, batch: Batch, regularization: float) -> None:
    optimizer.zero_grad()
    loss, _ = loss_of(chain, batch, regularization)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def step_products(plan: Plan, chain: Chain) -> list[Shape]:
    """The matrix products that a step's embeddings take, forward."""
    shapes: list[Shape] = []
    for depth, side, block in plan.upward():
        if block.layout is None or not len(block.entities):
            continue
        below = plan.blocks[depth + 1, side.opposite].rows
        shapes += block_products(chain.generator(side, depth), below, block)
    return shapes


def _recursion_seconds(pool: Pool, settings: Settings) -> float:
    """The time of one step by recursion on the same batch."""
    chain, optimizer = _fresh(pool, settings)
    drawn = draw_step(pool, settings.training, 0)
    begun = time.perf_counter()
    optimizer.zero_grad()
    recursion_loss(chain, pool, settings, drawn).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return time.perf_counter() - begun


def recursion_loss(chain: Chain, pool: Pool, settings: Settings, drawn: Draw) -> Tensor:
    """The loss of a step whose embeddings are found by recursion, one by one."""
    recursion = Recursion(chain, pool, settings.policy, drawn.seed, drawn.hidden)
    sides, has_embedding = [], []
    for side, asked in zip(Side, (drawn.users, drawn.items), strict=True):
        found = [recursion.embed((side, index)) for index in asked.tolist()]
        prior = chain.prior(side)
        nothing = chain.prototypes[side].new_zeros(chain.prototypes[side].shape[1])
        nothing = nothing if prior is None else prior
        sides.append(
            RequestRows.each(torch.stack([nothing if row is None else row for row in found]))
        )
        has_embedding.append(torch.tensor([row is not None for row in found]))
    between = sides[0], sides[1], has_embedding[0] & has_embedding[1]
    ratings = torch.from_numpy(drawn.ratings)
    return loss_between(chain, between, ratings, settings.training.regularization)[0]
