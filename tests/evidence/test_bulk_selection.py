import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import pools

from evichain.evidence.bulk_selection import select_for_all
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import selected
from evichain.ratings.rows import build_rows
from evichain.ratings.side import Side


@settings(max_examples=50)
@given(pools(), st.integers(1, 6), st.booleans())
def test_a_row_in_any_order_gets_the_evidence_of_a_stored_entity(
    pool: Pool, limit: int, prioritized: bool
) -> None:
    policy = Policy(evidence_limit=limit, prototype_prioritization=prioritized)
    for side in Side:
        slot, other_keys = pool.sides[side.opposite].slot, pool.graph.ids[side.opposite].keys
        for entity in range(len(pool.graph.ids[side])):
            others, codes = pool.graph.rows[side].row(entity)
            shuffled = np.random.default_rng(entity).permutation(len(others))
            ratings = pool.graph.scale.decode(codes)[shuffled].astype(np.float32)
            own, key = np.zeros(len(others), np.int32), pool.graph.ids[side].keys[[entity]]
            rows = build_rows(side, own, others[shuffled], ratings, key, other_keys)
            found = select_for_all(
                rows, rows.codes.astype(np.float32), key, slot, policy, side, depth=0
            )
            expected = selected(pool, policy, side, entity, 0)
            assert found.others.tolist() == expected[0].tolist()
            assert found.ratings.tolist() == expected[1].tolist()
