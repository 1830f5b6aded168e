"""Embeddings of any number of entities, in chunks that bound the memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from evichain.evidence.choice import Evidence
from evichain.evidence.expansion import expand
from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import NOTHING_HIDDEN, STABLE
from evichain.kernels import Flags, Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.layers import Layer, generated, stored_layer
from evichain.ratings.side import Side

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
    """The embedding of each entity at a depth (zeros for nothing), and which there are.

    One chunk has a plan of its own. Those of several would all lead to the same entities below,
    so each depth is made once for all of them, unless embeddings depend on who asks.
    """
    chunks = list(_chunks(chain, pool, policy, side, entities, depth))
    if len(chunks) > 1 and not policy.cycle_blocking:
        found = _layer(chain, pool, policy, side, entities, seed, depth)
        return found.rows, found.there
    size = chain.prototypes[side].shape[1]
    out = np.zeros((len(entities), size), np.float32)
    possible = np.zeros(len(entities), np.bool_)
    nobody = np.empty(0, np.int32)
    for places in chunks:
        chunk = entities[places]
        asked = (chunk, nobody) if side is Side.USER else (nobody, chunk)
        plan = make_plan(pool, policy, *asked, seed=seed, depth=depth)
        with torch.inference_mode():
            rows = chain.embed(plan)[side].numpy()
        at = plan.rows[side]
        there = at >= 0
        out[places[there]] = rows[at[there]]
        possible[places] = there
    return out, possible


def _chunks(
    chain: Chain, pool: Pool, policy: Policy, side: Side, entities: Ints, depth: int
) -> Iterator[Longs]:
    """Places of entities that together have about as much evidence as is handled at once."""
    indptr, known = pool.graph.rows[side].indptr, np.maximum(entities, 0)
    degrees = np.where(entities >= 0, indptr[known + 1] - indptr[known], 0)
    links = np.cumsum(np.minimum(degrees, policy.limit(depth)))
    cuts = np.diff(links // chain.generator(side, 0).links_at_once).nonzero()[0] + 1
    yield from np.split(np.arange(len(entities)), cuts)


def _layer(
    chain: Chain, pool: Pool, policy: Policy, side: Side, entities: Ints, seed: int, depth: int
) -> Layer:
    """The embeddings of some entities at a depth, all that they need made once a depth."""
    slot = np.where(entities >= 0, pool.sides[side].slot[np.maximum(entities, 0)], -1)
    out = stored_layer(chain, side, slot if policy.stored(depth) else np.full_like(slot, -1))
    if depth >= policy.max_depth:
        return out
    asked = np.flatnonzero(~out.there & (entities >= 0))
    wanted = entities[asked]
    chunks = list(_chunks(chain, pool, policy, side, wanted, depth))

    def evidence(chunk: Longs) -> Evidence:
        links, _ = expand(
            pool, policy, side, depth, wanted[chunk], seed, NOTHING_HIDDEN, keep_dead=False
        )
        return Evidence(links.ptr, links.entity, links.value)

    # Chosen twice, because all of it may not fit in memory.
    needed = np.zeros(len(pool.graph.ids[side.opposite]), np.bool_)
    for chunk in chunks:
        needed[evidence(chunk).others] = True
    others, place = _numbered(needed)
    below = _layer(chain, pool, policy, side.opposite, others, seed, depth + 1)
    for chunk in chunks:
        links = evidence(chunk)
        met = np.zeros(len(needed), np.bool_)
        met[links.others] = True
        named, number = _numbered(met)
        at = place[named]
        made = generated(
            chain,
            side,
            depth,
            Evidence(links.ptr, number[links.others], links.ratings),
            Layer(below.rows[at], below.there[at]),
        )
        out.rows[asked[chunk]], out.there[asked[chunk]] = made.rows, made.there
    return out


def _numbered(marked: Flags) -> tuple[Ints, Ints]:
    """Those that are marked, and by index which of them each is."""
    found = np.flatnonzero(marked).astype(np.int32)
    numbers = np.zeros(len(marked), np.int32)
    numbers[found] = np.arange(len(found), dtype=np.int32)
    return found, numbers


@dataclass(frozen=True)
class Ends:
    """What the head makes of entities of one side.

    Attributes:
        vectors: their dot products are estimates.
        embeddings: what tells the entities apart, however much they are liked.
        doubts: sums of two are logarithms of the deviations expected; None without doubt.
        there: whether there is a chain of evidence.
        told: whether something can be said: there is a chain, or a prior that stands in.
    """

    vectors: Floats
    embeddings: Floats
    doubts: Floats | None
    there: Flags
    told: Flags

    def deviations(self, others: "Ends", places: Longs | None = None) -> Floats | None:
        """The deviations expected between the first of these and each, or some, of the others."""
        if self.doubts is None or others.doubts is None:
            return None
        doubts = others.doubts if places is None else others.doubts[places]
        found: Floats = np.exp(self.doubts[0] + doubts)
        return found


def ends(
    chain: Chain, pool: Pool, policy: Policy, side: Side, entities: Ints, *, seed: int = STABLE
) -> Ends:
    """What the head makes of these entities."""
    return read(chain, side, *embeddings(chain, pool, policy, side, entities, seed=seed))


@torch.inference_mode()
def read(chain: Chain, side: Side, found: Floats, there: Flags) -> Ends:
    """What the head makes of depth-0 embeddings."""
    rows = torch.from_numpy(found)
    prior = None if there.all() else chain.prior(side)
    if prior is not None:
        rows = torch.where(torch.from_numpy(there).unsqueeze(1), rows, prior)
    head = chain.head
    doubt = head.doubt(side, rows)
    return Ends(
        vectors=head(side, rows).numpy(),
        embeddings=head.state(rows).numpy(),
        doubts=None if doubt is None else doubt.numpy(),
        there=there,
        told=np.ones_like(there) if chain.has_prior else there,
    )


def estimates(
    chain: Chain, pool: Pool, policy: Policy, pairs: Sequence[Ints], *, seed: int = STABLE
) -> tuple[Floats, Floats | None, tuple[Flags, Flags]]:
    """The prediction for each (user, item) pair of indices.

    Returns the estimates, the deviations expected of them (None without doubt), and which
    users and which items there are.
    """
    both, place, there, told = [], [], [], []
    for side in Side:
        distinct, inverse = np.unique(pairs[side], return_inverse=True)
        found = ends(chain, pool, policy, side, distinct, seed=seed)
        both.append(found)
        place.append(inverse)
        there.append(found.there[inverse])
        told.append(found.told[inverse])
    out = np.empty(len(pairs[0]), np.float32)
    for start in range(0, len(out), _PAIRS):
        chunk = slice(start, start + _PAIRS)
        left, right = (both[side].vectors[place[side][chunk]] for side in Side)
        out[chunk] = np.einsum("ij,ij->i", left, right)
    out[~(told[0] & told[1])] = chain.mean.item()
    if chain.head.bounded:
        out = pool.graph.scale.within(out)
    deviations = None
    if both[0].doubts is not None and both[1].doubts is not None:
        deviations = np.exp(both[0].doubts[place[0]] + both[1].doubts[place[1]])
    return out, deviations, (there[0], there[1])
