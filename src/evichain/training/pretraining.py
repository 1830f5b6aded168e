"""Pretraining: matrix factorization on the block of prototypes alone.

It gives the prototypes a useful scale before the generators are trained, and its cost does not
depend on the size of the data.
"""

import numpy as np
import torch
from torch.nn.functional import embedding

from evichain.evidence.holdout import are_held_out
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints
from evichain.model.chain import Chain
from evichain.ratings.side import Side
from evichain.training.settings import TrainingSettings

_LEARNING_RATE = 1e-2


def prototype_block(pool: Pool) -> tuple[Ints, Ints, Floats]:
    """The ratings of prototype items by prototype users, by slot."""
    graph, items = pool.graph, pool.sides[Side.ITEM]
    index = graph.ids[Side.USER].index_once(pool.ids[Side.USER])
    users, others, ratings = [], [], []
    rows = graph.rows[Side.USER]
    for slot, user in enumerate(index.tolist()):
        if user < 0:
            continue
        cited = items.cited[items.cited_ptr[user] : items.cited_ptr[user + 1]]
        positions = rows.indptr[user] + cited
        if pool.holdout.share:
            entities = rows.indices[positions]
            positions = positions[
                ~are_held_out(pool.holdout, np.full_like(entities, user), entities)
            ]
        others.append(items.slot[rows.indices[positions]])
        ratings.append(graph.scale.decode(rows.codes[positions]))
        users.append(np.full(len(positions), slot, np.int32))
    if not users:
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    return np.concatenate(users), np.concatenate(others), np.concatenate(ratings)


def pretrain(chain: Chain, pool: Pool, settings: TrainingSettings) -> float:
    """Fit the prototypes to the ratings among themselves; the last RMSE (NaN if none)."""
    left, right = chain.prototypes
    block = (torch.from_numpy(part).to(left.device) for part in prototype_block(pool))
    users, items, ratings = block
    if not len(ratings) or not settings.pretrain_iterations:
        return float("nan")
    optimizer = torch.optim.Adam([left, right], lr=_LEARNING_RATE)
    error = torch.tensor(0.0)
    for _ in range(settings.pretrain_iterations):
        optimizer.zero_grad()
        # Not by indexing: its gradient is summed in an order that depends on the threads.
        guesses = (embedding(users, left) * embedding(items, right)).sum(dim=-1)
        error = (guesses - ratings).square().mean()
        penalty = left.square().sum() + right.square().sum()
        (error + settings.regularization * penalty).backward()
        optimizer.step()
    return float(error.detach().sqrt())
