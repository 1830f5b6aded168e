"""Random graphs and policies, shared by the tests of equalities."""

from dataclasses import replace

import numpy as np
import torch
from hypothesis import strategies as st

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.model.choices import ChoiceGenerator
from evichain.model.settings import ChainSettings
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings


@st.composite
def tables(draw: st.DrawFn, *, largest: int = 9, most: int = 40) -> Ratings:
    """Small tables; whole-number levels or arbitrary values."""
    users, items = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    cells = st.tuples(st.integers(0, users - 1), st.integers(0, items - 1))
    pairs = draw(st.lists(cells, min_size=1, max_size=most, unique=True))
    noise = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = noise.integers(1, 6, len(pairs)).astype(float)
    values = levels if draw(st.booleans()) else noise.random(len(pairs))
    left, right = zip(*pairs, strict=True)
    return Ratings.from_arrays(list(left), list(right), values)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Small graphs, entities that reach no other among them; levels or a continuum."""
    graph = Graph.build(draw(tables()))
    return as_continuum(graph) if draw(st.booleans()) else graph


def as_continuum(graph: Graph) -> Graph:
    """The same graph stored as floats, as scales with very many values are."""
    none = np.empty(0, np.float32)
    rows = [replace(r, codes=graph.scale.decode(r.codes)) for r in graph.rows]
    return replace(graph, rows=(rows[0], rows[1]), scale=replace(graph.scale, levels=none))


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    """A graph with any number of prototypes on either side, none and all included."""
    graph = draw(graphs())
    counts = [draw(st.integers(0, len(graph.ids[side]))) for side in Side]
    return Pool.most_rated(graph, (counts[0], counts[1]))


def a_choice_chain(pool: Pool, policy: Policy) -> Chain:
    """A chain of choices with drawn numbers: nothing is neutral."""
    torch.manual_seed(3)
    shape = ChainSettings(generator="choices", key_size=3, shared_generators=False)
    chain = Chain.for_pool(shape, pool, policy.max_depth)
    with torch.no_grad():
        for parameter in chain.parameters():
            parameter.normal_(std=0.7)
        for module in chain.generators:
            if isinstance(module, ChoiceGenerator):
                module.reading.copy_(torch.tensor([3.0, 0.4, 0.0]))
    return chain


@st.composite
def staggered_policies(draw: st.DrawFn) -> Policy:
    """The policies that a chain of choices allows."""
    return Policy(
        max_depth=draw(st.sampled_from([3, 5])),
        evidence_limit=draw(st.sampled_from([1, 2, 3, 5, 80])),
        telescoping=draw(st.booleans()),
        prototype_prioritization=draw(st.booleans()),
        cycle_blocking=False,
        bottom_prototypes=draw(st.booleans()),
        staggered=True,
        caching=draw(st.booleans()),
    )


@st.composite
def policies(draw: st.DrawFn, *, channels: bool = False) -> Policy:
    """Every combination of the controls, over several depths and limits.

    With `channels`, only such as a chain with channels allows.
    """
    blocking = not channels and draw(st.booleans())
    return Policy(
        max_depth=draw(st.integers(0, 4 if blocking else 6)),
        evidence_limit=draw(st.sampled_from([1, 2, 3, 5, 80])),
        telescoping=draw(st.booleans()),
        prototype_prioritization=draw(st.booleans()),
        cycle_blocking=blocking,
        bottom_prototypes=not blocking and draw(st.booleans()),
        caching=draw(st.booleans()),
    )
