"""Embeddings of any number of entities, in chunks that bound the memory."""

from collections.abc import Iterator

import numpy as np
import torch

from evichain.evidence.bulk_selection import Evidence
from evichain.evidence.expansion import expand
from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import NOTHING_HIDDEN, STABLE
from evichain.kernels import Flags, Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.layers import Layer, generated, stored_layer
from evichain.ratings.side import Side


def embeddings(
    chain: Chain,
    pool: Pool,
    policy: Policy,
    side: Side,
    entities: Ints,
    *,
    seed: int = STABLE,
    depth: int | None = None,
) -> tuple[Floats, Flags]:
    """The embedding of each entity at a depth (zeros for none), and which entities have one.

    For few entities, one plan holds all evidence down to the prototypes. If that could be too
    large, each depth is computed once for all entities. With cycle blocking, where an embedding
    depends on who asks for it, there is a plan for each chunk of entities instead.
    """
    if depth is None:
        depth = policy.request_depth(side)
    if not (policy.cycle_blocking or _fits(chain, pool, policy, side, entities, depth)):
        found = _layer(chain, pool, policy, side, entities, seed, depth)
        return found.rows, found.has_embedding
    out = np.zeros((len(entities), chain.row_size), np.float32)
    possible = np.zeros(len(entities), np.bool_)
    nobody = np.empty(0, np.int32)
    for positions in _chunks(chain, pool, policy, side, entities, depth):
        chunk = entities[positions]
        asked = (chunk, nobody) if side is Side.USER else (nobody, chunk)
        plan = make_plan(pool, policy, *asked, seed=seed, depth=depth)
        with torch.inference_mode():
            rows = chain.embed(plan)[side].numpy()
        at = plan.rows[side]
        has_embedding = at >= 0
        out[positions[has_embedding]] = rows[at[has_embedding]]
        possible[positions] = has_embedding
    return out, possible


def _fits(chain: Chain, pool: Pool, policy: Policy, side: Side, entities: Ints, depth: int) -> bool:
    """Whether the evidence of every depth is certain to fit the limit of links at once."""
    links = int(_links(pool, policy, side, entities, depth).sum())
    for below in range(depth + 1, policy.max_depth):
        links = min(links * policy.limit(below), len(pool.graph))
    return links <= chain.links_at_once


def _chunks(
    chain: Chain, pool: Pool, policy: Policy, side: Side, entities: Ints, depth: int
) -> Iterator[Longs]:
    """Positions of entities, in chunks with about as much evidence as the limit allows."""
    links = np.cumsum(_links(pool, policy, side, entities, depth))
    cuts = np.diff(links // chain.links_at_once).nonzero()[0] + 1
    yield from np.split(np.arange(len(entities)), cuts)


def _links(pool: Pool, policy: Policy, side: Side, entities: Ints, depth: int) -> Longs:
    """An upper bound on the evidence of each entity."""
    indptr, known = pool.graph.rows[side].indptr, np.maximum(entities, 0)
    degrees = np.where(entities >= 0, indptr[known + 1] - indptr[known], 0)
    return np.minimum(degrees, policy.limit(depth))


def _layer(
    chain: Chain, pool: Pool, policy: Policy, side: Side, entities: Ints, seed: int, depth: int
) -> Layer:
    """The embeddings of some entities at a depth; every depth below is computed once."""
    slot = np.where(entities >= 0, pool.sides[side].slot[np.maximum(entities, 0)], -1)
    out = stored_layer(chain, side, slot if policy.stored(depth) else np.full_like(slot, -1))
    if depth >= policy.max_depth:
        return out
    asked = np.flatnonzero(~out.has_embedding & (entities >= 0))
    wanted = entities[asked]
    chunks = list(_chunks(chain, pool, policy, side, wanted, depth))

    def evidence(chunk: Longs) -> Evidence:
        links, _ = expand(
            pool, policy, side, depth, wanted[chunk], seed, NOTHING_HIDDEN, keep_dead=False
        )
        return Evidence(links.ptr, links.entity, links.value)

    # Selected twice, because all of it may not fit in memory.
    needed = np.zeros(len(pool.graph.ids[side.opposite]), np.bool_)
    for chunk in chunks:
        needed[evidence(chunk).others] = True
    others, position = _numbered(needed)
    below = _layer(chain, pool, policy, side.opposite, others, seed, depth + 1)
    for chunk in chunks:
        links = evidence(chunk)
        met = np.zeros(len(needed), np.bool_)
        met[links.others] = True
        named, number = _numbered(met)
        at = position[named]
        made = generated(
            chain,
            side,
            depth,
            Evidence(links.ptr, number[links.others], links.ratings),
            Layer(below.rows[at], below.has_embedding[at]),
        )
        out.rows[asked[chunk]], out.has_embedding[asked[chunk]] = made.rows, made.has_embedding
    return out


def _numbered(marked: Flags) -> tuple[Ints, Ints]:
    """The marked indices, and by index the number of each among them."""
    found = np.flatnonzero(marked).astype(np.int32)
    numbers = np.zeros(len(marked), np.int32)
    numbers[found] = np.arange(len(found), dtype=np.int32)
    return found, numbers
