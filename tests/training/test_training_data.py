"""What is learned from and what is watched, from a table and from a graph."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evichain import REC
from evichain.errors import DataError, ModelError
from evichain.evidence.holdout import NO_HOLDOUT, are_held_out
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side
from evichain.testing import planted_blocks
from evichain.training.pretraining import prototype_block
from evichain.training.settings import TrainingSettings
from evichain.training.trainer import make_batch
from evichain.training.training_data import prepare

SMALL = {"iterations": 60, "batch_size": 128, "embedding_size": 4, "width": 16, "max_depth": 2}


def test_a_graph_is_parted_without_a_copy() -> None:
    graph = Graph.build(planted_blocks(100, 80))
    material = prepare(graph, (5, 5), 0.1, seed=3)
    assert material.pool.graph is graph
    assert material.validation is not None
    users, items, ratings = material.validation
    assert are_held_out(material.pool.holdout, users, items).all()
    assert abs(len(users) / len(graph) - 0.1) < 0.02
    pairs = zip(users.tolist(), items.tolist(), strict=True)
    assert ratings.tolist() == [dict(graph.rated(Side.USER, u))[i] for u, i in pairs]
    assert material.whole().holdout == NO_HOLDOUT
    assert material.whole().graph is graph


def test_batches_and_prototypes_leave_out_what_is_watched() -> None:
    graph = Graph.build(planted_blocks(100, 80))
    pool = prepare(graph, (20, 20), 0.5, seed=0).pool
    settings = TrainingSettings(batch_size=200)
    everyone = Policy(max_depth=1, evidence_limit=len(graph), bottom_prototypes=False)
    batch = make_batch(pool, everyone, settings, 0)
    assert 60 < len(batch.ratings) < 140
    single = TrainingSettings(batch_size=1)
    assert all(len(make_batch(pool, everyone, single, step).ratings) == 1 for step in range(20))
    whole = prototype_block(replace(pool, holdout=NO_HOLDOUT))
    parted = prototype_block(pool)
    assert 0.3 * len(whole[0]) < len(parted[0]) < 0.7 * len(whole[0])
    index = [graph.ids[side].index(pool.ids[side]) for side in Side]
    assert not are_held_out(pool.holdout, index[0][parted[0]], index[1][parted[1]]).any()


def test_the_largest_seed_parts_as_well_as_any() -> None:
    table = planted_blocks(100, 80)
    for source in (table, Graph.build(table)):
        # In this order: kernels that were called with a small seed have no room for a larger one.
        for seed in (3, 2**63 - 1):
            validation = prepare(source, (5, 5), 0.1, seed).validation
            assert validation is not None
            assert abs(len(validation[0]) / len(table) - 0.1) < 0.02


def test_too_few_ratings_are_not_parted() -> None:
    graph = Graph.build(planted_blocks(8, 8))
    assert prepare(graph, (2, 2), 0.1, seed=0).validation is None
    table = planted_blocks(8, 8)
    assert prepare(table, (2, 2), 0.1, seed=0).validation is None


def test_a_saved_graph_is_learned_from_where_it_lies(tmp_path: Path) -> None:
    table = planted_blocks()
    Graph.build(table).save(tmp_path / "blocks.graph")
    for source in (tmp_path / "blocks.graph", str(tmp_path / "blocks.graph")):
        model = REC("paper", **SMALL, validation=0.1, learning_rate=5e-3).fit(source)
        assert isinstance(model.graph.rows[Side.USER].indices, np.memmap)
    assert len(model.graph) == len(table)
    assert model.training["validation_rmse"] < 1.5
    model.save(tmp_path / "model")
    again = REC.load(tmp_path / "model")
    assert again.predict(3, 5).estimate == model.predict(3, 5).estimate


def test_a_path_without_ratings_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing: neither a file nor a data set of that name"):
        REC().fit(tmp_path / "nothing")
    graph = tmp_path / "damaged.graph"
    Graph.build(planted_blocks()).save(graph)
    (graph / "user_ids.parquet").unlink()
    with pytest.raises(ModelError, match="no readable graph"):
        REC().fit(graph)


def test_a_graph_without_validation_learns_what_its_table_does(tmp_path: Path) -> None:
    table = planted_blocks()
    from_table = REC("paper", **SMALL).fit(table)
    from_graph = REC("paper", **SMALL).fit(Graph.build(table))
    pairs = [1, 2, 3], [4, 5, 6]
    assert np.array_equal(
        from_table.predict(*pairs).estimates, from_graph.predict(*pairs).estimates
    )


def test_validation_does_not_see_itself() -> None:
    """The evidence of watched pairs, asked for as validation asks, never holds them."""
    graph = Graph.build(planted_blocks(60, 40))
    material = prepare(graph, (60, 40), 0.3, seed=1)
    assert material.validation is not None
    pool: Pool = material.pool
    users, items, _ = material.validation
    from evichain.evidence.selection import selected

    policy = Policy(max_depth=1, evidence_limit=1000)
    for user, item in zip(users[:50].tolist(), items[:50].tolist(), strict=True):
        assert user != UNKNOWN
        assert item not in selected(pool, policy, Side.USER, user, 0)[0]
        assert user not in selected(pool, policy, Side.ITEM, item, 0)[0]
