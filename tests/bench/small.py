"""Each recipe at its smallest, and a chain for it."""

from typing import Any

import torch

from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.ratings.graph import Graph
from evichain.recipes import Settings, settings_for
from evichain.testing import planted_blocks

NAMES = ("paper", "plus")
SMALL: dict[str, Any] = {
    "embedding_size": 5,
    "key_size": 4,
    "channel_size": 3,
    "width": 7,
    "evidence_limit": 6,
    "max_depth": 2,
    "prototype_users": 6,
    "prototype_items": 4,
    "batch_size": 40,
}


def small(recipe: str, **changes: Any) -> tuple[Chain, Pool, Settings]:
    """An untrained chain of a recipe, and what it is asked about."""
    settings = settings_for(recipe, **{**SMALL, "cycle_blocking": False, **changes})
    pool = Pool.most_rated(Graph.build(planted_blocks()), (6, 4))
    torch.manual_seed(0)
    return Chain.for_pool(settings.chain, pool, settings.policy.max_depth), pool, settings
