"""A benchmark of bulk generation: the embeddings of all entities at every depth."""

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch

from evichain.bench.products import Shape, block_products, ratio, seconds_of_products
from evichain.evidence.bulk_selection import select_for_all
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.model.layers import Layer, all_layers, portions
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.recipes import Settings
from evichain.resources import peak_bytes

Layers = dict[tuple[int, Side], Layer]


def bench_embed(
    ratings: Ratings,
    settings: Settings,
    *,
    repeats: int = 3,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Generate all embeddings of users and items, with the evidence used for serving.

    Returns `seconds` for all of it (the median), `ratings_per_second`, and `gemm_ratio`: the
    seconds over those of dense products of its sizes, which are measured in between. Cycle
    blocking is off, because it would make an embedding depend on who asks for it.
    """
    graph = Graph.build(ratings)
    pool = Pool.most_rated(graph, settings.chain.prototype_counts)
    policy = settings.policy.model_copy(update={"cycle_blocking": False})
    torch.manual_seed(settings.training.seed)
    chain = Chain.for_pool(settings.chain, pool, policy.max_depth)
    say("compiling the kernels")
    made = all_layers(chain, pool, policy)
    ours, dense = list[float](), list[float]()
    for turn in range(repeats):
        say(f"all entities at every depth, {turn + 1} of {repeats}")
        made.clear()  # or there would be two copies in memory
        begun = time.perf_counter()
        made = all_layers(chain, pool, policy)
        ours.append(time.perf_counter() - begun)
        dense.append(seconds_of_products(_products(chain, pool, policy, made), backward=False))
    generated = [one.has_embedding for (depth, _), one in made.items() if depth < policy.max_depth]
    return {
        "seconds": median(ours),
        "ratings_per_second": len(graph) / median(ours),
        "gemm_seconds": median(dense),
        "gemm_ratio": ratio(median(ours), median(dense)),
        "embeddings": sum(int(has_embedding.sum()) for has_embedding in generated),
        "parameters": chain.parameter_count,
        "peak_bytes": peak_bytes(),
    }


def _products(chain: Chain, pool: Pool, policy: Policy, made: Layers) -> Iterator[Shape]:
    """The products of each portion of each layer."""
    graph = pool.graph
    for depth, side in made:
        if depth == policy.max_depth:
            continue
        rows, slot = graph.rows[side], pool.sides[side.opposite].slot
        ratings, keys = graph.scale.decode(rows.codes), graph.ids[side].keys
        evidence = select_for_all(rows, ratings, keys, slot, policy, side, depth)
        generator, below = chain.generator(side, depth), made[depth + 1, side.opposite]
        for block in portions(evidence, below.has_embedding, generator.links_at_once):
            yield from block_products(generator, len(below.rows), block)
