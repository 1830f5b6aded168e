"""The counts are the recursion's own, and the tables and ratios follow from them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.experiments.conftest import Make
from tests.strategies import pools

from evichain.evidence.pool import Pool
from evichain.experiments.complexity import CONTROLS, DEPTHS, count_batch, policy_of
from evichain.model.chain import Chain
from evichain.model.reference import Recursion
from evichain.model.settings import ChainSettings
from evichain.training.batches import batch_positions
from evichain.training.trainer import evidence_seed


@settings(max_examples=150)
@given(
    pools(),
    st.sampled_from(list(CONTROLS)),
    st.sampled_from(DEPTHS),
    st.booleans(),
    st.integers(0, 3),
)
def test_counts_are_those_of_the_recursion(
    pool: Pool, controls: str, depth: int, caching: bool, batch: int
) -> None:
    policy = policy_of(controls, depth, caching=caching)
    size = min(4, len(pool.graph))
    shape = ChainSettings(embedding_size=2, width=3)
    chain = Chain(shape, [side.count for side in pool.sides], pool.graph.mean)
    users, items, _ = pool.graph.pairs(batch_positions(len(pool.graph), size, 5, batch))
    recursion = Recursion(chain, pool, policy, evidence_seed(5, batch))
    with torch.no_grad():
        recursion.predict(users, items)
    assert count_batch(pool, policy, 5, batch, size) == recursion.counters


def test_controls_are_added_one_by_one() -> None:
    told = [len(controls) for name, controls in CONTROLS.items() if name != "all but CB"]
    assert told == sorted(set(told))
    first = policy_of("MD", 2, caching=False)
    assert not (first.telescoping)
    assert not (first.cycle_blocking)
    assert not first.prototype_prioritization
    assert first.limit(0) > 10**9
    assert policy_of("+ TEL", 4, caching=True).limit(2) == 20


def test_the_report_has_the_papers_claims_beside_ours(make: Make) -> None:
    outcome = make("complexity")
    *counts, claims = outcome.document["tables"]
    assert [table["title"] for table in counts] == [f"ml-100k, max depth {d}" for d in DEPTHS]
    assert claims["rows"][0][:2] == ["requests, cache alone", "about 100 times"]
    bare, *_, cheapest = counts[-1]["rows"]
    assert bare[1] > cheapest[4]
    ratio = float(claims["rows"][5][-1].split()[0])
    assert ratio == pytest.approx(bare[1] / cheapest[4], rel=0.05)
