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

_CHUNK = 8192


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
    for start in range(0, len(entities), _CHUNK):
        chunk = entities[start : start + _CHUNK]
        asked = (chunk, nobody) if side is Side.USER else (nobody, chunk)
        plan = make_plan(pool, policy, *asked, seed=seed, depth=depth)
        with torch.inference_mode():
            rows = chain.embed(plan)[side].numpy()
        found = plan.rows[side]
        there = found >= 0
        out[start : start + _CHUNK][there] = rows[found[there]]
        possible[start : start + _CHUNK] = there
    return out, possible


def estimates(
    chain: Chain, pool: Pool, policy: Policy, pairs: Sequence[Ints], *, seed: int = STABLE
) -> tuple[Floats, Flags]:
    """The prediction for each (user, item) pair of indices, and which are possible."""
    parts, possible = [], np.ones(len(pairs[0]), np.bool_)
    for side in Side:
        distinct, inverse = np.unique(pairs[side], return_inverse=True)
        rows, there = embeddings(chain, pool, policy, side, distinct, seed=seed)
        parts.append(rows[inverse])
        possible &= there[inverse]
    dots = np.einsum("ij,ij->i", parts[Side.USER], parts[Side.ITEM])
    return np.where(possible, dots, np.float32(chain.mean.item())), possible
