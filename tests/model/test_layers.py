"""Layers give everyone's embeddings at once: those of the recursion."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import a_choice_chain, policies, pools, staggered_policies

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.model.channels import ChannelGenerator
from evichain.model.layers import all_layers
from evichain.model.reference import Recursion
from evichain.model.settings import ChainSettings
from evichain.ratings.side import Side


def a_chain(pool: Pool, policy: Policy, generator: str) -> Chain:
    torch.manual_seed(3)
    shape = ChainSettings.model_validate(
        {"generator": generator, "embedding_size": 4, "width": 7, "key_size": 3, "channel_size": 2}
        | {"shared_generators": False}
    )
    return Chain.for_pool(shape, pool, policy.max_depth)


def assert_layers_agree(pool: Pool, policy: Policy, chain: Chain) -> None:
    layers = all_layers(chain, pool, policy)
    depths = range(policy.max_depth + 1)
    assert set(layers) == {(d, side) for d in depths for side in Side if policy.needs(d, side)}
    for (depth, side), layer in layers.items():
        recursion = Recursion(chain, pool, policy)
        for index in range(len(pool.graph.ids[side])):
            expected = recursion.embed((side, index), depth)
            assert layer.has_embedding[index] == (expected is not None)
            if expected is not None:
                found = torch.from_numpy(layer.rows[index])
                torch.testing.assert_close(found, expected.detach(), atol=1e-5, rtol=1e-5)


@settings(max_examples=100)
@given(pools(), policies(channels=True), st.sampled_from(["mean", "channels"]))
def test_layers_are_what_the_recursion_gives(pool: Pool, policy: Policy, generator: str) -> None:
    assert_layers_agree(pool, policy, a_chain(pool, policy, generator))


@settings(max_examples=100)
@given(pools(), staggered_policies())
def test_layers_of_choices_are_what_the_recursion_gives(pool: Pool, policy: Policy) -> None:
    assert_layers_agree(pool, policy, a_choice_chain(pool, policy))


def test_portions_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from evichain.ratings.graph import Graph
    from evichain.testing import planted_blocks

    pool = Pool.most_rated(Graph.build(planted_blocks()), (5, 5))
    policy = Policy(max_depth=3, evidence_limit=20, cycle_blocking=False, bottom_prototypes=True)
    chain = a_chain(pool, policy, "channels")
    whole = all_layers(chain, pool, policy)
    monkeypatch.setattr(ChannelGenerator, "links_at_once", 64)
    for key, layer in all_layers(chain, pool, policy).items():
        np.testing.assert_allclose(layer.rows, whole[key].rows, atol=1e-5)
        assert (layer.has_embedding == whole[key].has_embedding).all()
