"""A step is measured against the products it makes, and against the recursion of the same step."""

import weakref
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from tests.bench.counted import Products
from tests.bench.small import NAMES, SMALL, small

from evichain.bench import bench_step, step
from evichain.bench.step import recursion_loss, step_products
from evichain.evidence.plan import Plan
from evichain.recipes import settings_for
from evichain.testing import planted_blocks
from evichain.training.trainer import Batch, draw_step, loss_of, make_batch


@pytest.mark.parametrize("recipe", NAMES)
@pytest.mark.parametrize("cycle_blocking", [False, True])
def test_the_products_told_of_are_those_that_are_made(recipe: str, cycle_blocking: bool) -> None:
    if recipe == "plus" and cycle_blocking:
        pytest.skip("channels do not support cycle blocking")
    chain, pool, settings = small(recipe, cycle_blocking=cycle_blocking)
    plan = make_batch(pool, settings.policy, settings.training, 0).plan
    with Products() as made:
        chain.rows(plan)
    # Those of regressions are made by a kernel: each piece of evidence adds an outer product.
    regressions = [
        (
            int(np.diff(block.layout.node_ptr).sum()),
            settings.chain.key_size,
            settings.chain.key_size,
        )
        for _, _, block in plan.upward()
        if recipe == "plus" and block.layout is not None and len(block.entities)
    ]
    assert made.shapes
    assert Counter(step_products(plan, chain)) == Counter([*made.shapes, *regressions])
    assert sum(links for links, _, _ in regressions) == (plan.links if regressions else 0)


@pytest.mark.parametrize("recipe", NAMES)
def test_the_recursion_has_the_loss_of_our_step(recipe: str) -> None:
    chain, pool, settings = small(recipe)
    batch = make_batch(pool, settings.policy, settings.training, 0)
    ours, _ = loss_of(chain, batch, settings.training.regularization)
    drawn = draw_step(pool, settings.training, 0)
    assert len(drawn.ratings) == len(batch.ratings)
    theirs = recursion_loss(chain, pool, settings, drawn)
    torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-5)


def test_figures_are_those_of_the_step() -> None:
    settings = settings_for("paper", **SMALL)
    found = bench_step(planted_blocks(), settings, repeats=1)
    chain, pool, _ = small("paper", cycle_blocking=True)
    last = make_batch(pool, settings.policy, settings.training, 3).plan
    assert (found["pairs"], found["links"]) == (last.pairs, last.links)
    assert found["parameters"] == chain.parameter_count
    assert found["gemm_ratio"] == found["seconds"] / found["gemm_seconds"]
    assert found["bytes_per_rating"] == pool.graph.nbytes / len(pool.graph)


def test_plans_are_let_go_of_as_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[Plan]] = []
    alive: list[int] = []

    def watched(*asked: Any) -> Batch:
        alive.append(sum(each() is not None for each in made))
        batch = make_batch(*asked)
        made.append(weakref.ref(batch.plan))
        return batch

    monkeypatch.setattr(step, "make_batch", watched)
    found = bench_step(planted_blocks(), settings_for("paper", **SMALL), repeats=5, reference=False)
    assert len(made) > 5
    assert max(alive) <= 2  # the one in use, and the one before it until then
    assert found["step_peak_bytes"] >= found["graph_peak_bytes"]
