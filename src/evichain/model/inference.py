"""Embeddings of any number of entities, in chunks that bound the memory."""

from collections.abc import Sequence

import numpy as np
import torch

from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import STABLE
from evichain.kernels import Flags, Floats, Ints
from evichain.model.chain import Chain
from evichain.ratings.side import Side

_LINKS = 1 << 19
_PAIRS = 1 << 20


def embeddings(
    chain: Chain,
    pool: Pool,
    policy: Policy,
    side: Side,
    entities: Ints,
    *,
    seed: int = STABLE,
    depth: int = 0,
) -> tuple[Floats, Flags]:
    """The embedding of each entity at a depth (zeros for nothing), and which there are."""
    size = chain.prototypes[side].shape[1]
    out = np.zeros((len(entities), size), np.float32)
    possible = np.zeros(len(entities), np.bool_)
    nobody = np.empty(0, np.int32)
    step = max(1, _LINKS // policy.limit(depth))
    for start in range(0, len(entities), step):
        chunk = entities[start : start + step]
        asked = (chunk, nobody) if side is Side.USER else (nobody, chunk)
        plan = make_plan(pool, policy, *asked, seed=seed, depth=depth)
        with torch.inference_mode():
            rows = chain.embed(plan)[side].numpy()
        found = plan.rows[side]
        there = found >= 0
        out[start : start + step][there] = rows[found[there]]
        possible[start : start + step] = there
    return out, possible


def estimates(
    chain: Chain, pool: Pool, policy: Policy, pairs: Sequence[Ints], *, seed: int = STABLE
) -> tuple[Floats, tuple[Flags, Flags]]:
    """The prediction for each (user, item) pair of indices, and which users and items there are."""
    rows, place, there = [], [], []
    for side in Side:
        distinct, inverse = np.unique(pairs[side], return_inverse=True)
        found, possible = embeddings(chain, pool, policy, side, distinct, seed=seed)
        rows.append(found)
        place.append(inverse)
        there.append(possible[inverse])
    out = np.full(len(pairs[0]), chain.mean.item(), np.float32)
    both = np.flatnonzero(there[0] & there[1])
    for start in range(0, len(both), _PAIRS):
        chunk = both[start : start + _PAIRS]
        left, right = (rows[side][place[side][chunk]] for side in Side)
        out[chunk] = np.einsum("ij,ij->i", left, right)
    return out, (there[0], there[1])
