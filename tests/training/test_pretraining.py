import math

import numpy as np
import torch
from hypothesis import given, settings
from tests.strategies import pools

from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.model.settings import ChainSettings
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.testing import planted_blocks
from evichain.training.pretraining import pretrain, prototype_block
from evichain.training.settings import TrainingSettings


@settings(max_examples=40)
@given(pools())
def test_the_block_holds_the_ratings_among_prototypes(pool: Pool) -> None:
    users, items, ratings = prototype_block(pool)
    found = {
        (pool.ids[0][u], pool.ids[1][i], r)
        for u, i, r in zip(users.tolist(), items.tolist(), ratings.tolist(), strict=True)
    }
    graph = pool.graph
    expected = {
        (graph.ids[0][u], item, rating)
        for u in range(len(graph.ids[0]))
        if graph.ids[0][u] in pool.ids[0]
        for item, rating in graph.rated(Side.USER, u)
        if item in pool.ids[1]
    }
    assert found == expected
    assert len(users) == len(expected)


def test_prototypes_learn_their_ratings_and_nothing_else_moves() -> None:
    pool = Pool.most_rated(Graph.build(planted_blocks()), (10, 10))
    torch.manual_seed(0)
    chain = Chain(ChainSettings(embedding_size=4, width=8), (10, 10), 3.0)
    before = [p.detach().clone() for p in chain.generators.parameters()]
    rmse = pretrain(chain, pool, TrainingSettings(pretrain_iterations=400))
    assert rmse < 0.3
    after = list(chain.generators.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert math.isnan(pretrain(chain, pool, TrainingSettings(pretrain_iterations=0)))
    nobody = Pool.most_rated(pool.graph, (0, 5))
    assert len(prototype_block(nobody)[0]) == 0
    assert np.isnan(pretrain(chain, nobody, TrainingSettings()))


def test_the_same_bits_with_several_threads() -> None:
    """Large enough a block for PyTorch to share the work out among its threads."""
    pool = Pool.most_rated(Graph.build(planted_blocks(users=80, items=60)), (80, 60))
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 3, 3, 3):
            torch.set_num_threads(count)
            torch.manual_seed(0)
            chain = Chain(ChainSettings(embedding_size=40, width=4), (80, 60), 3.0)
            pretrain(chain, pool, TrainingSettings(pretrain_iterations=30))
            results.append([rows.detach().clone() for rows in chain.prototypes])
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))
