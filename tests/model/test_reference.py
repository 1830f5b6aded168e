"""The recursion is the paper's, by hand on small cases; and the plan agrees with it."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import a_choice_chain, policies, pools, staggered_policies
from torch import Tensor

from evichain import kernels
from evichain.evidence.counters import Counters
from evichain.evidence.entity_sample import draw_entity_sample
from evichain.evidence.plan import Plan, make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import NOTHING_HIDDEN, hide, selected
from evichain.kernels import Ints
from evichain.model.chain import Chain
from evichain.model.generator import Generator
from evichain.model.mean import MeanGenerator
from evichain.model.reference import Entity, Recursion
from evichain.model.settings import ChainSettings
from evichain.ratings.graph import Graph
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings


def a_chain(pool: Pool, hidden_layers: int = 2) -> Chain:
    torch.manual_seed(3)
    shape = ChainSettings(embedding_size=3, width=7, hidden_layers=hidden_layers)
    chain = Chain(shape, [side.count for side in pool.sides], pool.graph.mean)
    with torch.no_grad():
        for rows in chain.prototypes:
            rows.mul_(10)
    return chain


def a_channel_chain(pool: Pool, policy: Policy, **parts: bool) -> Chain:
    torch.manual_seed(3)
    shape = ChainSettings(
        generator="channels", embedding_size=4, width=7, key_size=3, channel_size=2, **parts
    )
    return Chain(
        shape,
        [side.count for side in pool.sides],
        pool.graph.mean,
        std=pool.graph.std or 1.0,
        depths=policy.max_depth,
    )


CHANNELS = [
    {"ridge_channel": ridge, "presence_channel": presence}
    for ridge, presence in product([False, True], repeat=2)
    if ridge or presence
]


def requests(data: st.DataObject, pool: Pool) -> tuple[Ints, Ints]:
    size = data.draw(st.integers(1, 12))
    users, items = (
        np.array(
            data.draw(
                st.lists(
                    st.integers(UNKNOWN, len(pool.graph.ids[side]) - 1),
                    min_size=size,
                    max_size=size,
                )
            ),
            np.int32,
        )
        for side in Side
    )
    return users, items


def both_ways(chain: Chain, plan: Plan) -> Iterator[Tensor]:
    """Predictions with kernels, and in the ordinary operations of other devices."""
    for ordinary in (False, True):
        for generator in chain.generators:
            if isinstance(generator, Generator):
                generator.ordinary = ordinary
        yield chain(plan)


def assert_plan_agrees(
    pool: Pool, policy: Policy, chain: Chain, users: Ints, items: Ints, seed: int, *, hiding: bool
) -> None:
    hidden = NOTHING_HIDDEN
    if hiding:
        entity_sample = draw_entity_sample(pool, 7, seed=3)
        hidden = hide(
            users[:3],
            items[:3],
            dropout=0.2,
            seed=5,
            entity_sample=entity_sample,
            cold_start_share=0.5,
        )
    recursion = Recursion(chain, pool, policy, seed, hidden)
    expected, possible = recursion.predict(users, items)
    plans = [make_plan(pool, policy, users, items, seed=seed, hidden=hidden)]
    if not policy.staggered:
        counting = make_plan(pool, policy, users, items, seed=seed, hidden=hidden, counting=True)
        assert counting.counters == recursion.counters
        plans.append(counting)
    for plan in plans:
        assert [u >= 0 and i >= 0 for u, i in zip(*plan.rows, strict=True)] == possible
        for found in both_ways(chain, plan):
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@settings(max_examples=250)
@given(pools(), policies(), st.data())
def test_plan_agrees_with_the_recursion(pool: Pool, policy: Policy, data: st.DataObject) -> None:
    chain = a_chain(pool, data.draw(st.integers(1, 3)))
    users, items = requests(data, pool)
    seed = data.draw(st.sampled_from([0, 1, 99]))
    assert_plan_agrees(pool, policy, chain, users, items, seed, hiding=data.draw(st.booleans()))


@settings(max_examples=250)
@given(pools(), staggered_policies(), st.data())
def test_plan_agrees_with_the_recursion_over_choices(
    pool: Pool, policy: Policy, data: st.DataObject
) -> None:
    users, items = requests(data, pool)
    seed, hiding = data.draw(st.sampled_from([0, 1, 99])), data.draw(st.booleans())
    chain = a_choice_chain(pool, policy)
    assert_plan_agrees(pool, policy, chain, users, items, seed, hiding=hiding)


@settings(max_examples=250)
@given(pools(), policies(channels=True), st.data())
def test_plan_agrees_with_the_recursion_over_channels(
    pool: Pool, policy: Policy, data: st.DataObject
) -> None:
    parts = data.draw(st.sampled_from(CHANNELS))
    chain = a_channel_chain(pool, policy, shared_generators=data.draw(st.booleans()), **parts)
    users, items = requests(data, pool)
    seed = data.draw(st.sampled_from([0, 1, 99]))
    assert_plan_agrees(pool, policy, chain, users, items, seed, hiding=data.draw(st.booleans()))


@settings(max_examples=60)
@given(pools(), policies(channels=True), st.sampled_from(CHANNELS))
def test_gradients_of_channels_are_those_of_the_recursion(
    pool: Pool, policy: Policy, parts: dict[str, bool]
) -> None:
    users, items, _ = pool.graph.pairs(np.arange(min(6, len(pool.graph))))
    chain = a_channel_chain(pool, policy, shared_generators=False, **parts)
    assert_gradients_agree(pool, policy, chain, users, items)


@pytest.mark.parametrize("controls", list(product([False, True], repeat=5)))
def test_every_combination_of_controls_agrees_on_a_denser_graph(controls: tuple[bool, ...]) -> None:
    telescoping, prioritization, blocking, caching, limited = controls
    policy = Policy(
        max_depth=3,
        evidence_limit=3 if limited else 30,
        telescoping=telescoping,
        prototype_prioritization=prioritization,
        cycle_blocking=blocking,
        caching=caching,
    )
    noise = np.random.default_rng(5)
    cells = noise.permutation(12 * 10)[:70]
    values = noise.integers(1, 6, len(cells))
    graph = Graph.build(Ratings.from_arrays(cells // 10, cells % 10, values))
    pool = Pool.most_rated(graph, (2, 3))
    users, items = np.arange(4, dtype=np.int32), np.arange(4, 8, dtype=np.int32)
    assert_plan_agrees(pool, policy, a_chain(pool), users, items, 1, hiding=False)


@settings(max_examples=60)
@given(pools(), policies())
def test_gradients_are_those_of_the_recursion(pool: Pool, policy: Policy) -> None:
    users, items, _ = pool.graph.pairs(np.arange(min(6, len(pool.graph))))
    assert_gradients_agree(pool, policy, a_chain(pool), users, items)


def assert_gradients_agree(
    pool: Pool, policy: Policy, chain: Chain, users: Ints, items: Ints
) -> None:
    gradients = []
    expected, _ = Recursion(chain, pool, policy).predict(users, items)
    for found in (*both_ways(chain, make_plan(pool, policy, users, items)), expected):
        chain.zero_grad()
        loss = (found - 1).square().sum()
        if not loss.requires_grad:
            return
        loss.backward()  # type: ignore[no-untyped-call]
        gradients.append([_gradient(p) for p in chain.parameters()])
    for *ours, theirs in zip(*gradients, strict=True):
        for each in ours:
            torch.testing.assert_close(each, theirs, atol=1e-3, rtol=1e-4)


def _gradient(parameter: torch.nn.Parameter) -> torch.Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()


def test_the_recursion_is_the_mean_of_f_over_evidence() -> None:
    graph = Graph.build(Ratings.from_arrays(["a", "a", "p"], ["x", "y", "x"], [5, 2, 4]))
    pool = Pool.of(graph, (["p"], ["y"]))
    chain = a_chain(pool)
    index = {name: int(graph.ids[Side.ITEM].index([name])[0]) for name in "xy"}
    user = int(graph.ids[Side.USER].index(["a"])[0])

    f, g = chain.generators
    p, y = chain.prototypes[Side.USER][0], chain.prototypes[Side.ITEM][0]
    assert isinstance(f, MeanGenerator)
    assert isinstance(g, MeanGenerator)
    x_without_a = g.contribution(p, torch.tensor(4.0))
    a = f.contribution(x_without_a, torch.tensor(5.0)) / 2
    a = a + f.contribution(y, torch.tensor(2.0)) / 2

    recursion = Recursion(chain, pool, Policy())
    found = recursion.embed((Side.USER, user))
    assert found is not None
    torch.testing.assert_close(found, a)
    # a, then x (which asks p, a being blocked) and y.
    assert recursion.counters == Counters(requests=4, generated=2, failed=0, cache_hits=0)

    unblocked = Recursion(chain, pool, Policy(cycle_blocking=False, max_depth=2))
    both = g.contribution(p, torch.tensor(4.0)).detach()
    at_depth_one = unblocked.embed((Side.ITEM, index["x"]), depth=1)
    assert at_depth_one is not None
    torch.testing.assert_close(at_depth_one.detach(), both)


def test_without_prototypes_every_request_fails_with_the_mean() -> None:
    graph = Graph.build(Ratings.from_arrays([1, 1, 2], [1, 2, 2], [5, 2, 4]))
    pool = Pool.most_rated(graph, (0, 0))
    chain = a_chain(pool)
    estimates, possible = Recursion(chain, pool, Policy()).predict(
        np.array([0], np.int32), np.array([1], np.int32)
    )
    assert possible == [False]
    assert float(estimates[0]) == pytest.approx(11 / 3)


class WholeStack(Recursion):
    """Blocks whoever is anywhere on the call stack, as the paper words it, and caches nothing."""

    def embed(
        self,
        entity: Entity,
        depth: int = 0,
        asker: Entity | None = None,
        stack: tuple[Entity, ...] = (),
    ) -> torch.Tensor | None:
        side, index = entity
        if index == UNKNOWN:
            return None
        slot = int(self.pool.sides[side].slot[index])
        if slot >= 0:
            stored: torch.Tensor = self.chain.prototypes[side][slot]
            return stored
        if depth >= self.policy.max_depth:
            return None
        parts, links = [], []
        found = selected(self.pool, self.policy, side, index, depth, self.seed, self.hidden)
        for other, rating in zip(found[0].tolist(), torch.from_numpy(found[1]), strict=True):
            if (side.opposite, other) in stack:
                continue
            value = self.embed((side.opposite, other), depth + 1, None, (*stack, entity))
            if value is not None:
                parts.append(value)
                links.append(rating)
        if not parts:
            return None
        made: torch.Tensor = self.chain.generator(side, depth)(
            torch.stack(parts), torch.stack(links)
        )
        return made


@settings(max_examples=40)
@given(pools(), st.integers(0, 4))
def test_blocking_the_asker_is_blocking_the_whole_stack(pool: Pool, depth: int) -> None:
    policy = Policy(max_depth=depth, evidence_limit=4, telescoping=False)
    chain = a_chain(pool)
    users, items, _ = pool.graph.pairs(np.arange(min(6, len(pool.graph))))
    ours, possible = Recursion(chain, pool, policy).predict(users, items)
    theirs, also = WholeStack(chain, pool, policy).predict(users, items)
    assert possible == also
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_the_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(2)
    cells = noise.permutation(900 * 700)[:20_000]
    graph = Graph.build(Ratings.from_arrays(cells // 700, cells % 700, cells % 5 + 1))
    pool = Pool.most_rated(graph, (20, 20))
    users, items, _ = graph.pairs(np.arange(0, 20_000, 20))
    plan = make_plan(pool, Policy(evidence_limit=16), users, items, seed=4)
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(kernels, "thread_count", lambda count=threads: count)
        chain = a_chain(pool)
        found = chain(plan)
        found.square().sum().backward()
        results.append([found.detach(), *(_gradient(p) for p in chain.parameters())])
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))
