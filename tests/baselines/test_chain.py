"""PMF, rowless and columnless: the chain with other prototypes is the model of that name."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from tests.baselines.small import SMALL

from evichain import Ratings
from evichain.baselines._chain import ChainBaseline
from evichain.baselines.columnless import Columnless
from evichain.baselines.pmf import PMF
from evichain.baselines.rowless import Rowless
from evichain.ratings.side import Side
from evichain.testing import planted_blocks

TINY: dict[str, Any] = {**SMALL["rowless"], "iterations": 3, "validation": 0}


def vectors(model: ChainBaseline[Any], side: Side) -> torch.Tensor:
    """The stored vectors of a side by index."""
    engine = model.chain.backend
    slots = torch.tensor(engine.pool.sides[side].slot.tolist())
    found: torch.Tensor = engine.chain.prototypes[side].detach()[slots]
    return found


def test_pmf_minimizes_the_plain_objective() -> None:
    """Every step at full batch is Adam on the objective of matrix factorization."""
    ratings = planted_blocks(12, 9)
    settings: dict[str, Any] = {
        "embedding_size": 3,
        "batch_size": 10_000,
        "learning_rate": 0.05,
        "regularization": 0.7,
        "validation": 0,
    }
    left, right = (vectors(PMF(iterations=0, **settings).fit(ratings), side) for side in Side)
    left, right = left.clone().requires_grad_(), right.clone().requires_grad_()
    model = PMF(iterations=20, **settings).fit(ratings)
    users, items = (
        torch.tensor(model.graph.ids[s].index(ratings.frame[s.column]).tolist()) for s in Side
    )
    truth = torch.tensor(ratings.frame["rating"].to_list())
    optimizer = torch.optim.Adam([left, right])
    for step in range(20):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * step / 20)) / 2
        optimizer.zero_grad()
        error = (truth - (left[users] * right[items]).sum(dim=1)).square().sum()
        penalty = 0.7 * (left.square().sum() + right.square().sum())
        ((error + penalty) / len(truth)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    torch.testing.assert_close(vectors(model, Side.USER), left.detach(), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(vectors(model, Side.ITEM), right.detach(), atol=1e-4, rtol=1e-4)
    wanted = (left[users] * right[items]).sum(dim=1).detach().clamp(1, 5).numpy()
    names = ratings.frame["user_id"].to_list(), ratings.frame["item_id"].to_list()
    assert np.allclose(model.predict(*names).estimates, wanted, atol=1e-4)


@pytest.mark.parametrize(("kind", "side"), [(Rowless, Side.USER), (Columnless, Side.ITEM)])
def test_generated_vectors_are_means_over_what_was_rated(
    kind: type[ChainBaseline[Any]], side: Side
) -> None:
    model = kind(**{**TINY, "evidence_limit": 1000}).fit(planted_blocks(12, 9))
    engine, graph = model.chain.backend, model.graph
    generator = engine.chain.generator(side, 0)
    stored = vectors(model, side.opposite)
    for index in range(4):
        others, codes = graph.rows[side].row(index)
        with torch.no_grad():
            rated = torch.from_numpy(graph.scale.decode(codes))
            parts = [generator(stored[i : i + 1], rated[j : j + 1]) for j, i in enumerate(others)]
            generated = torch.stack([part.reshape(-1) for part in parts]).mean(0)
        for other in range(3):
            pair = (index, other) if side is Side.USER else (other, index)
            wanted = float(generated @ stored[other])
            assert model.predict(*pair).estimate == pytest.approx(
                min(max(wanted, 1.0), 5.0), abs=1e-4
            )


def test_only_what_is_asked_counts_as_learned() -> None:
    few = planted_blocks(10, 8)
    assert PMF(embedding_size=3, iterations=1).fit(few).parameter_count == (10 + 8) * 3
    size, width = TINY["embedding_size"], TINY["width"]
    generator = (size + 1) * width + width + width * size + size
    assert Rowless(**TINY).fit(few).parameter_count == 8 * size + generator


def test_who_has_no_vector_is_told_of() -> None:
    """Who has one rating, which was kept aside, has no vector, and so no estimate of their own."""
    many, few = planted_blocks(20, 12).frame, planted_blocks(20, 12, density=0.0).frame
    ratings = Ratings.from_frame(pl.concat([many, few.with_columns(pl.col("user_id") + 100)]))
    model = PMF(iterations=1, validation=0.4).fit(ratings)
    names = ratings.frame["user_id"].to_list(), ratings.frame["item_id"].to_list()
    found = model.predict(*names)
    assert 0 < sum(prediction.impossible for prediction in found) < len(found)
    reason = next(prediction.reason for prediction in found if prediction.reason)
    assert reason.startswith("no chain of evidence from user")


def test_the_size_does_not_grow_with_the_side_that_is_generated() -> None:
    few, many = planted_blocks(10, 8), planted_blocks(30, 8)
    assert Rowless(**TINY).fit(few).parameter_count == Rowless(**TINY).fit(many).parameter_count
    assert (
        Columnless(**TINY).fit(few).parameter_count < Columnless(**TINY).fit(many).parameter_count
    )
    assert Columnless(**TINY).fit(few).parameter_count == (
        Columnless(**TINY).fit(planted_blocks(10, 24)).parameter_count
    )


def test_a_rowless_chain_serves_users_who_came_later() -> None:
    model = Rowless(**SMALL["rowless"]).fit(planted_blocks())
    model.chain.add(Ratings.from_arrays([900] * 12, list(range(12)), [5.0, 1.0] * 6))
    likes, dislikes = (model.chain.predict(900, item).estimate for item in (20, 21))
    assert likes > dislikes + 1
