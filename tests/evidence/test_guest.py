import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import pools

from evichain.evidence.guest import guest_evidence
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import selected
from evichain.ratings.side import Side


@settings(max_examples=50)
@given(pools(), st.integers(1, 6), st.booleans())
def test_a_guest_gets_the_evidence_of_a_stored_entity(
    pool: Pool, limit: int, prioritized: bool
) -> None:
    policy = Policy(evidence_limit=limit, prototype_prioritization=prioritized)
    for side in Side:
        for entity in range(len(pool.graph.ids[side])):
            others, codes = pool.graph.rows[side].row(entity)
            shuffled = np.random.default_rng(entity).permutation(len(others))
            ratings = pool.graph.scale.decode(codes)
            guest = guest_evidence(
                pool,
                policy,
                side,
                others[shuffled],
                ratings[shuffled],
                key=int(pool.graph.ids[side].keys[entity]),
            )
            stored = selected(pool, policy, side, entity, 0)
            assert [part.tolist() for part in guest] == [part.tolist() for part in stored]
