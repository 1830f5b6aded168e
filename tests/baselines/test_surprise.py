"""What Surprise is given, and that its answers are those of the equations."""

import numpy as np
import pytest
from tests.baselines.small import SMALL

from evichain.baselines._surprise import training_set
from evichain.baselines.biased_mf import BiasedMF
from evichain.baselines.item_knn import ItemKNN
from evichain.baselines.svdpp import SVDpp
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.testing import planted_blocks

RATINGS = planted_blocks(12, 9)


def test_it_is_given_every_rating_by_index() -> None:
    graph = Graph.build(RATINGS)
    found = training_set(graph)
    triples = {
        (found.to_raw_uid(user), found.to_raw_iid(item), rating)
        for user, item, rating in found.all_ratings()
    }
    wanted = {(u, i, r) for u, i, r in zip(*graph.pairs(np.arange(len(graph))), strict=True)}
    assert triples == wanted
    assert found.rating_scale == (1.0, 5.0)


def test_biased_factorization_learns_biases_and_factors() -> None:
    model = BiasedMF(**{**SMALL["biased-mf"], "epochs": 0}).fit(RATINGS)
    start = model.predict(0, 0).estimate
    assert start == pytest.approx(RATINGS.mean, abs=0.2)
    assert model.parameter_count == (12 + 9) * (4 + 1)
    again = BiasedMF(**{**SMALL["biased-mf"], "epochs": 0}, seed=5).fit(RATINGS)
    assert again.predict(0, 0).estimate != start


def test_svdpp_has_a_further_vector_for_each_item() -> None:
    model = SVDpp(**SMALL["svd++"]).fit(RATINGS)
    assert model.parameter_count == (12 + 9) * (4 + 1) + 9 * 4


def test_a_neighbour_tells_how_far_its_rating_is_from_the_baseline() -> None:
    """With one neighbour the estimate is the baseline and what the neighbour is off its own."""
    model = ItemKNN(neighbours=1).fit(RATINGS)
    graph = model.graph
    rated = dict(graph.rated(Side.USER, 0))
    free = next(item for item in range(9) if item not in rated)
    from surprise import KNNBaseline

    options = {"name": "pearson_baseline", "user_based": False, "shrinkage": 100}
    library = KNNBaseline(1, sim_options=options, verbose=False).fit(training_set(graph))
    inner = library.trainset.to_inner_iid
    similar = {item: library.sim[inner(free), inner(int(item))] for item in rated}
    nearest = max(similar, key=lambda item: similar[item])
    mean, own = library.trainset.global_mean, library.trainset.to_inner_uid(0)
    baseline = mean + library.bu[own] + library.bi[inner(free)]
    off = rated[nearest] - (mean + library.bu[own] + library.bi[inner(int(nearest))])
    wanted = min(max(baseline + off, 1.0), 5.0)
    assert model.predict(0, free).estimate == pytest.approx(wanted, abs=1e-5)
