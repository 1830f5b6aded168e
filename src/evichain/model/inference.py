"""Inference: the output of the head for entities of one side, and estimates for pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import STABLE
from evichain.kernels import Flags, Floats, Ints, Longs
from evichain.model.chain import Chain
from evichain.model.embeddings import embeddings
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side

_PAIRS = 1 << 20


@dataclass(frozen=True)
class HeadOutput:
    """The output of the head for entities of one side.

    Attributes:
        vectors: their dot products are estimates.
        embeddings: the latent state, without the bias.
        log_stds: a user's plus an item's is the log of the predicted std; None if not predicted.
        has_embedding: whether there is a chain of evidence.
        answerable: whether there is a chain, or a prior in its place.
    """

    vectors: Floats
    embeddings: Floats
    log_stds: Floats | None
    has_embedding: Flags
    answerable: Flags

    def stds(self, others: "HeadOutput", positions: Longs | None = None) -> Floats | None:
        """The predicted stds between the first of these and each, or some, of the others."""
        if self.log_stds is None or others.log_stds is None:
            return None
        log_stds = others.log_stds if positions is None else others.log_stds[positions]
        found: Floats = np.exp(self.log_stds[0] + log_stds)
        return found

    def take(self, indices: Ints | Longs) -> "HeadOutput":
        """The output of some of these entities."""
        return self.mapped(lambda own: own[indices])

    @staticmethod
    def joined(parts: "Sequence[HeadOutput]") -> "HeadOutput":
        """Several outputs as one."""
        first, *others = parts
        return first.mapped(lambda *arrays: np.concatenate(arrays), *others)

    def mapped(self, function: Callable[..., Any], *others: "HeadOutput") -> "HeadOutput":
        """The output with each array replaced by a function of it and the others' arrays."""
        arrays = {name: own for name, own in vars(self).items() if own is not None}
        changed = {
            name: function(own, *(getattr(other, name) for other in others))
            for name, own in arrays.items()
        }
        return replace(self, **changed)


def head_outputs(
    chain: Chain, pool: Pool, policy: Policy, side: Side, entities: Ints, *, seed: int = STABLE
) -> HeadOutput:
    """What the head makes of these entities."""
    return read(chain, side, *embeddings(chain, pool, policy, side, entities, seed=seed))


@torch.inference_mode()
def read(chain: Chain, side: Side, found: Floats, has_embedding: Flags) -> HeadOutput:
    """What the head makes of depth-0 embeddings."""
    rows = torch.from_numpy(found)
    prior = None if has_embedding.all() else chain.prior(side)
    if prior is not None:
        rows = torch.where(torch.from_numpy(has_embedding).unsqueeze(1), rows, prior)
    head = chain.head
    log_std = head.log_std(side, rows)
    return HeadOutput(
        vectors=head(side, rows).numpy(),
        embeddings=head.state(rows).numpy(),
        log_stds=None if log_std is None else log_std.numpy(),
        has_embedding=has_embedding,
        answerable=np.ones_like(has_embedding) if chain.has_prior else has_embedding,
    )


def estimates(
    chain: Chain, pool: Pool, policy: Policy, pairs: Sequence[Ints], *, seed: int = STABLE
) -> tuple[Floats, Floats | None, tuple[Flags, Flags]]:
    """The prediction for each (user, item) pair of indices.

    Returns the estimates, their standard deviations (None without a std head), and which
    users and which items have an embedding.
    """
    both, positions = [], []
    for side in Side:
        distinct, position = np.unique(pairs[side], return_inverse=True)
        both.append(head_outputs(chain, pool, policy, side, distinct, seed=seed))
        positions.append(position)
    found, stds = paired(chain, pool.graph.scale, both, positions)
    has_embedding = tuple(both[side].has_embedding[positions[side]] for side in Side)
    return found, stds, (has_embedding[0], has_embedding[1])


def paired(
    chain: Chain, scale: Scale, both: Sequence[HeadOutput], positions: Sequence[Longs | Ints]
) -> tuple[Floats, Floats | None]:
    """The prediction for each pair of a user and an item, given by position.

    Returns the estimates and their predicted stds (None if not predicted).
    """
    out = np.empty(len(positions[0]), np.float32)
    for start in range(0, len(out), _PAIRS):
        chunk = slice(start, start + _PAIRS)
        left, right = (both[side].vectors[positions[side][chunk]] for side in Side)
        out[chunk] = np.einsum("ij,ij->i", left, right)
    answerable = [both[side].answerable[positions[side]] for side in Side]
    out[~(answerable[0] & answerable[1])] = chain.mean.item()
    if chain.head.bounded:
        out = scale.within(out)
    stds = None
    if both[0].log_stds is not None and both[1].log_stds is not None:
        stds = np.exp(both[0].log_stds[positions[0]] + both[1].log_stds[positions[1]])
    return out, stds
