"""The plan agrees with the paper's recursion: values, failures and counters."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import NO_PAIRS, hide
from evichain.model.chain import Chain
from evichain.model.reference import Recursion
from evichain.model.settings import ChainSettings
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Small graphs; entities without a path to others among them; levels or a continuum."""
    users, items = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    cells = st.tuples(st.integers(0, users - 1), st.integers(0, items - 1))
    pairs = draw(st.lists(cells, min_size=1, max_size=40, unique=True))
    seed = draw(st.integers(0, 2**32 - 1))
    noise = np.random.default_rng(seed)
    values = noise.integers(1, 6, len(pairs)) if draw(st.booleans()) else noise.random(len(pairs))
    left, right = zip(*pairs, strict=True)
    graph = Graph.build(Ratings.from_arrays(list(left), list(right), values))
    if draw(st.booleans()):
        return continuous(graph)
    return graph


def continuous(graph: Graph) -> Graph:
    """The same graph stored as floats, as scales with very many values are."""
    from dataclasses import replace

    none = np.empty(0, np.float32)
    rows = [replace(r, codes=graph.scale.decode(r.codes)) for r in graph.rows]
    return replace(graph, rows=(rows[0], rows[1]), scale=replace(graph.scale, levels=none))


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    blocking = draw(st.booleans())
    return Policy(
        max_depth=draw(st.integers(0, 4 if blocking else 6)),
        evidence_limit=draw(st.sampled_from([1, 2, 3, 5, 80])),
        telescoping=draw(st.booleans()),
        prototype_prioritization=draw(st.booleans()),
        cycle_blocking=blocking,
        caching=draw(st.booleans()),
    )


def a_chain(pool: Pool, hidden_layers: int) -> Chain:
    torch.manual_seed(3)
    shape = ChainSettings(embedding_size=3, width=7, hidden_layers=hidden_layers)
    return Chain(shape, [side.count for side in pool.sides], pool.graph.mean)


@settings(max_examples=300, deadline=None)
@given(graphs(), policies(), st.data())
def test_plan_equals_recursion(graph: Graph, policy: Policy, data: st.DataObject) -> None:
    counts = [data.draw(st.integers(0, len(graph.ids[side]))) for side in Side]
    pool = Pool.most_rated(graph, (counts[0], counts[1]))
    chain = a_chain(pool, data.draw(st.integers(1, 3)))
    with torch.no_grad():
        for rows in chain.prototypes:
            rows.mul_(10)
    size = data.draw(st.integers(1, 12))
    users, items = (
        np.array(
            data.draw(st.lists(st.integers(UNKNOWN, len(graph.ids[s]) - 1), min_size=size, max_size=size)),
            np.int32,
        )
        for s in Side
    )
    seed = data.draw(st.sampled_from([0, 1, 99]))
    hidden = hide(users[:3], items[:3]) if data.draw(st.booleans()) else NO_PAIRS

    plan = make_plan(pool, policy, users, items, seed=seed, hidden=hidden, counting=True)
    lean = make_plan(pool, policy, users, items, seed=seed, hidden=hidden)
    recursion = Recursion(chain, pool, policy, seed, hidden)
    expected, possible = recursion.predict(users, items)

    assert [u >= 0 and i >= 0 for u, i in zip(*plan.rows, strict=True)] == possible
    torch.testing.assert_close(chain(plan), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(chain(lean), expected, atol=1e-5, rtol=1e-5)
    assert plan.counters == recursion.counters


@settings(max_examples=60, deadline=None)
@given(graphs(), policies())
def test_gradients_equal_those_of_the_recursion(graph: Graph, policy: Policy) -> None:
    pool = Pool.most_rated(graph, (2, 2))
    users, items, _ = graph.pairs(np.arange(min(6, len(graph))))
    chain = a_chain(pool, 2)
    gradients = []
    for predict in (
        lambda: chain(make_plan(pool, policy, users, items)),
        lambda: Recursion(chain, pool, policy).predict(users, items)[0],
    ):
        chain.zero_grad()
        loss = (predict() - 1).square().sum()
        if not loss.requires_grad:
            return
        loss.backward()
        gradients.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in chain.parameters()])
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
