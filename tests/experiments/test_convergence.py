import torch
from tests.experiments.conftest import Make

from evichain.evidence.pool import Pool
from evichain.experiments.convergence import (
    PAPER_PMF,
    QUICK_STEPS,
    SYSTEMS,
    _pretrain_block,
    settings_given,
)
from evichain.experiments.sources import Source
from evichain.model.chain import Chain
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.recipes import settings_for
from evichain.testing import planted_blocks


def test_the_settings_are_the_papers() -> None:
    small, large = Source("ml-100k"), Source("ml-1m")
    assert settings_given("paper", small, 0)["max_depth"] == 4
    assert settings_given("paper", large, 0)["max_depth"] == 2
    assert [settings_given("pmf", s, 0)["batch_size"] for s in (small, large)] == [1000, 5000]
    assert settings_given("pmf", small, 0)["learning_rate"] == 1e-3
    assert settings_given("paper", small, 0)["iterations"] == 250


def test_the_block_of_pmf_is_pretrained_and_nothing_else() -> None:
    graph = Graph.build(planted_blocks(70, 60, density=0.9))
    counts = len(graph.ids[Side.USER]), len(graph.ids[Side.ITEM])
    pool = Pool.most_rated(graph, counts)
    told = settings_for("paper", max_depth=0, prototype_users=70, prototype_items=60)
    torch.manual_seed(0)
    chain = Chain.for_pool(told.chain, pool, 0)
    before = [rows.detach().clone() for rows in chain.prototypes]
    _pretrain_block(chain, graph, told)
    for old, new in zip(before, chain.prototypes, strict=True):
        torch.testing.assert_close(new[50:], old[50:])
        assert not torch.equal(new[:50], old[:50])
    # The pretrained know the ratings among themselves.
    index = [graph.ids[side].index(pool.ids[side][:50]) for side in Side]
    with torch.no_grad():
        guesses = chain.prototypes[0][:50] @ chain.prototypes[1][:50].T
    for slot in range(5):
        rated = dict(graph.rated(Side.USER, int(index[0][slot])))
        for position, item in enumerate(pool.ids[Side.ITEM][:50]):
            if item in rated:
                assert abs(float(guesses[slot, position]) - rated[item]) < 1


def test_every_system_has_its_curve(make: Make) -> None:
    outcome = make("convergence")
    (table,) = outcome.document["tables"]
    assert [row[1] for row in table["rows"]] == list(SYSTEMS.values())
    assert [row[3] for row in table["rows"]] == ["under 30", PAPER_PMF["ml-100k"], None, "under 30"]
    curves = {cell["of"]["system"]: cell["found"]["rmse"] for cell in outcome.document["cells"]}
    assert all(len(curve) == QUICK_STEPS for curve in curves.values())
    # From prototypes to the mean rating at once; a factorization begins near nothing.
    assert curves["paper"][0] < curves["pmf"][0]
    assert curves["pmf-larger"][-1] < curves["pmf"][-1]
