"""The trace of a prediction: its evidence tree, with the contribution of each piece."""

import numpy as np
import torch

from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.trace import Trace
from evichain.model.additive import additive_trace
from evichain.model.chain import Chain
from evichain.model.evidence_source import EvidenceSource, PlanSource
from evichain.model.removal import removal_trace
from evichain.ratings.side import Side


def trace(
    chain: Chain, pool: Pool, policy: Policy, user: int, item: int, *, pieces: int, depth: int
) -> Trace:
    """The trace of a possible prediction.

    Args:
        pieces: how many pieces of evidence to show for each embedding.
        depth: the depth of the deepest pieces to show.
    """
    plan = make_plan(pool, policy, np.array([user], np.int32), np.array([item], np.int32))
    with torch.no_grad():
        source = PlanSource(pool, plan, chain.rows(plan))
    return trace_of(chain, source, pieces=pieces, depth=depth)


def trace_of(chain: Chain, source: EvidenceSource, *, pieces: int, depth: int) -> Trace:
    """The same for any source of evidence."""
    made = additive_trace if chain.generator(Side.USER, 0).additive else removal_trace
    return made(chain, source, pieces=pieces, depth=depth)
