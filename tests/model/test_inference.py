import numpy as np
import torch
from hypothesis import given, settings
from tests.strategies import policies, pools

from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.model import inference
from evichain.model.chain import Chain
from evichain.model.settings import ChainSettings
from evichain.ratings.ids import UNKNOWN


@settings(max_examples=40)
@given(pools(), policies())
def test_estimates_equal_the_chain_whatever_the_chunk(pool: Pool, policy: Policy) -> None:
    torch.manual_seed(1)
    counts = [side.count for side in pool.sides]
    chain = Chain(ChainSettings(embedding_size=3, width=5), counts, pool.graph.mean)
    users, items, _ = pool.graph.pairs(np.arange(len(pool.graph)))
    users = np.append(users, np.int32(UNKNOWN))
    items = np.append(items, items[0])
    plan = make_plan(pool, policy, users, items)
    with torch.no_grad():
        expected = chain(plan).numpy()
    whole = inference._CHUNK
    try:
        for chunk in (1, 3, whole):
            inference._CHUNK = chunk
            found, possible = inference.estimates(chain, pool, policy, (users, items))
            np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)
            assert possible.tolist() == [u >= 0 and i >= 0 for u, i in zip(*plan.rows, strict=True)]
    finally:
        inference._CHUNK = whole
