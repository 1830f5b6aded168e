import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from tests.strategies import policies, pools

from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.model import inference
from evichain.model.chain import Chain
from evichain.model.mean import MeanGenerator
from evichain.model.settings import ChainSettings
from evichain.ratings.ids import UNKNOWN
from evichain.ratings.side import Side


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pools(), policies())
def test_estimates_equal_the_chain_whatever_the_chunk(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, policy: Policy
) -> None:
    torch.manual_seed(1)
    counts = [side.count for side in pool.sides]
    chain = Chain(ChainSettings(embedding_size=3, width=5), counts, pool.graph.mean)
    users, items, _ = pool.graph.pairs(np.arange(len(pool.graph)))
    users = np.append(users, np.int32(UNKNOWN))
    items = np.append(items, items[0])
    plan = make_plan(pool, policy, users, items)
    with torch.no_grad():
        expected = chain(plan).numpy()
    for links in (1, 200 * policy.limit(0)):
        monkeypatch.setattr(MeanGenerator, "links_at_once", links)
        monkeypatch.setattr(inference, "_PAIRS", 3)
        found, _, has_embedding = inference.estimates(chain, pool, policy, (users, items))
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)
        for side in Side:
            assert has_embedding[side].tolist() == (plan.rows[side] >= 0).tolist()
