"""Embeddings depth by depth: all entities of a side at once, from those one depth below.

A plan follows the evidence of a few requests down to the prototypes. For all entities, or if the
embeddings one depth below are known, it is simpler to compute one layer after another.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from evichain.evidence.bulk_selection import Evidence, select_for_all
from evichain.evidence.plan import Block
from evichain.evidence.plan_layout import NO_INDICES
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Flags, Floats, Ints, Keys
from evichain.model.chain import Chain
from evichain.model.generator import Generator
from evichain.ratings.rows import Rows
from evichain.ratings.side import Side


@dataclass(frozen=True)
class Layer:
    """The embeddings of a side at a depth, by index, and which entities have one."""

    rows: Floats
    has_embedding: Flags


def stored_layer(chain: Chain, side: Side, slot: Ints) -> Layer:
    """The stored embeddings of a side's prototypes; none for other entities."""
    stored = chain.prototypes[side].detach().numpy()
    rows = np.zeros((len(slot), stored.shape[1]), np.float32)
    rows[slot >= 0] = stored[slot[slot >= 0]]
    return Layer(rows, slot >= 0)


def overlaid(stored: Layer, made: Layer) -> Layer:
    """Stored embeddings where there are any, and generated ones elsewhere."""
    return Layer(
        np.where(stored.has_embedding[:, None], stored.rows, made.rows),
        stored.has_embedding | made.has_embedding,
    )


def portions(evidence: Evidence, has_embedding: Flags, links_at_once: int) -> Iterator[Block]:
    """Evidence in portions that bound the memory, without entities that have none."""
    count = len(evidence.ptr) - 1
    cuts = np.diff(evidence.ptr[1:] // links_at_once).nonzero()[0] + 1
    for part in np.split(np.arange(count), cuts):
        if not len(part):
            continue
        first, last = evidence.ptr[part[0]], evidence.ptr[part[-1] + 1]
        links = Evidence(
            evidence.ptr[part[0] : part[-1] + 2] - first,
            evidence.others[first:last],
            evidence.ratings[first:last],
        )
        layout, alive = links.lay_out(has_embedding)
        if alive.any():
            yield Block(NO_INDICES, part[alive].astype(np.int32), layout)


def generated(chain: Chain, side: Side, depth: int, evidence: Evidence, below: Layer) -> Layer:
    """The embeddings generated from evidence.

    Args:
        below: the opposite side, one depth below, by the indices that the evidence names.
    """
    return made_by(chain.generator(side, depth), evidence, below)


@torch.inference_mode()
def made_by(generator: Generator, evidence: Evidence, below: Layer) -> Layer:
    """The embeddings that one generator makes of evidence."""
    count, sources = len(evidence.ptr) - 1, torch.from_numpy(below.rows)
    made = np.zeros((count, below.rows.shape[1]), np.float32)
    has_embedding = np.zeros(count, np.bool_)
    for block in portions(evidence, below.has_embedding, generator.links_at_once):
        has_embedding[block.entities] = True
        made[block.entities] = generator.generate(sources, block).numpy()
    return Layer(made, has_embedding)


def layer(
    chain: Chain,
    policy: Policy,
    side: Side,
    depth: int,
    rows: Rows,
    ratings: Floats,
    keys: Keys,
    slots: tuple[Ints, Ints],
    below: Layer,
) -> Layer:
    """The embeddings of some entities at a depth, from their rows.

    Args:
        slots: the prototype number or -1, of these entities and of the opposite entities that their
            rows refer to by index.
        below: the embeddings of those opposite entities, one depth below.
    """
    own, others = slots
    evidence = select_for_all(rows, ratings, keys, others, policy, side, depth)
    made = generated(chain, side, depth, evidence, below)
    if not policy.stored(depth):
        return made
    return overlaid(stored_layer(chain, side, own), made)


def all_layers(chain: Chain, pool: Pool, policy: Policy) -> dict[tuple[int, Side], Layer]:
    """The embeddings of all entities at every depth, by (depth, side), without cycle blocking."""
    assert not policy.cycle_blocking, "an embedding would depend on who asks for it"
    graph, slot = pool.graph, {side: pool.sides[side].slot for side in Side}
    needed = [(d, s) for d in range(policy.max_depth + 1) for s in Side if policy.needs(d, s)]
    found: dict[tuple[int, Side], Layer] = {}
    for depth, side in reversed(needed):
        if depth == policy.max_depth:
            found[depth, side] = stored_layer(chain, side, slot[side])
        else:
            rows = graph.rows[side]
            found[depth, side] = layer(
                chain,
                policy,
                side,
                depth,
                rows,
                graph.scale.decode(rows.codes),
                graph.ids[side].keys,
                (slot[side], slot[side.opposite]),
                found[depth + 1, side.opposite],
            )
    return found
