"""Models and ratings for the tests of Spark."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evichain import REC
from evichain.answering.graph_backend import GraphBackend
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Floats
from evichain.model.chain import Chain
from evichain.model.embeddings import embeddings
from evichain.ratings.side import Side
from evichain.ratings.synthetic import Synthetic
from evichain.ratings.table import Ratings
from evichain.spark.shared import Shared, by_key

RECIPES: dict[str, dict[str, Any]] = {
    "plus": {"evidence_limit": 20, "key_size": 8},
    "choices": {
        "evidence_limit": 30,
        "key_size": 8,
        "max_depth": 3,
        "item_discount": 0.25,
        "user_discount": 0.25,
        "unchosen_weight": 0.3,
        "choice_ridge": 0.01,
        "prototype_users": 0,
    },
    "paper": {
        "evidence_limit": 12,
        "max_depth": 2,
        "cycle_blocking": False,
        "pretrain_iterations": 2,
    },
}
"""Both recipes, small enough to be trained in a moment and limited enough for it to matter."""
SMALL = {"embedding_size": 12, "width": 16, "prototype_users": 20, "prototype_items": 20}
SMALL |= {"iterations": 3, "batch_size": 1000, "seed": 1}

TOLERANCE = 1e-5
"""How far embeddings may be apart, beside 1 and beside their size: the order of sums differs."""


def made_up() -> Ratings:
    """Ratings of which some users and items have many and most have few."""
    return Ratings.from_frame(pl.concat(Synthetic(6000, users=300, items=400).parts()))


def shared_of(chain: Chain, pool: Pool, policy: Policy) -> Shared:
    """What `Shared.load` makes of a saved model."""
    return Shared(chain, policy, *by_key(pool.ids), pool.graph.scale)


def saved_model(recipe: str, ratings: Ratings, folder: Path) -> REC:
    """A model of a recipe, saved as `folder/recipe`, with its ratings as `recipe.parquet`."""
    model = REC(recipe, **{**SMALL, **RECIPES[recipe]}).fit(ratings)
    model.save(folder / recipe)
    frame = model.graph.to_ratings().frame
    frame.sample(fraction=1, shuffle=True, seed=0).write_parquet(folder / f"{recipe}.parquet")
    return model


def both_ways(engine: GraphBackend, folder: Path, side: Side) -> tuple[Floats, Floats]:
    """The embeddings of a side that were written, and what one machine makes of them.

    Those of all entities are there, and null for whom one machine finds no chain of evidence.
    """
    found = pl.read_parquet(folder / f"{side.noun}s" / "*.parquet").sort(side.column)
    ids = engine.graph.ids[side]
    assert found[side.column].to_list() == sorted(ids.values.to_list())
    index = ids.index(found[side.column])
    rows, has_embedding = embeddings(engine.chain, engine.pool, engine.settings.policy, side, index)
    assert found["embedding"].is_not_null().to_list() == has_embedding.tolist()
    made = np.array(found["embedding"].drop_nulls().to_list(), np.float32)
    return made.reshape(-1, rows.shape[1]), rows[has_embedding]


def assert_embeddings(engine: GraphBackend, folder: Path) -> None:
    """What was written for all users and items is what one machine makes of them."""
    for side in Side:
        made, right = both_ways(engine, folder, side)
        np.testing.assert_allclose(made, right, atol=TOLERANCE, rtol=TOLERANCE)
