from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import policies, pools

from evichain.evidence.holdout import hold_out
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.model.channels import ChannelGenerator
from evichain.model.embeddings import embeddings
from evichain.model.settings import ChainSettings
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pools(), policies(channels=True), st.integers(0, 9))
def test_depths_made_once_have_the_embeddings_of_a_plan(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, policy: Policy, seed: int
) -> None:
    torch.manual_seed(1)
    pool = replace(pool, holdout=hold_out(0.2, seed=4))
    shape = ChainSettings(
        generator="channels", embedding_size=4, width=7, key_size=3, channel_size=2
    )
    chain = Chain.for_pool(shape, pool, policy.max_depth)
    for side in Side:
        entities = np.array([UNKNOWN, *range(len(pool.graph.ids[side])), 0], np.int32)
        made = []
        for links in (1 << 22, 1):
            monkeypatch.setattr(ChannelGenerator, "links_at_once", links)
            made.append(embeddings(chain, pool, policy, side, entities, seed=seed))
        (expected, has_embedding), (found, also) = made
        assert also.tolist() == has_embedding.tolist()
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)
