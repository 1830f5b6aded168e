"""Calibration: scales predicted standard deviations so that intervals cover their share."""

import math

import numpy as np

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints
from evichain.model.chain import Chain
from evichain.model.embeddings import embeddings
from evichain.model.head import BaselineHead
from evichain.model.inference import paired, read
from evichain.protocol import COVERAGE, stds_for
from evichain.ratings.side import Side

_FEWEST = 20


def calibrate(
    chain: Chain, pool: Pool, policy: Policy, pairs: tuple[Ints, Ints], ratings: Floats
) -> None:
    """Shift `log_std` so that the intervals of these pairs cover the share they claim.

    Then do the same for unknown users, and for unknown items.

    Args:
        pairs: users and items whose ratings are not in any evidence.
    """
    head = chain.head
    if not isinstance(head, BaselineHead) or len(ratings) < _FEWEST:
        return

    embedded, positions = [], []
    for side in Side:
        distinct, position = np.unique(pairs[side], return_inverse=True)
        embedded.append(embeddings(chain, pool, policy, side, distinct))
        positions.append(position)

    def log_correction(unknown: Side | None = None) -> float:
        """The log of the factor that is missing, with all entities of a side taken as unknown."""
        both = []
        for side in Side:
            rows, has_embedding = embedded[side]
            both.append(read(chain, side, rows, has_embedding & (side is not unknown)))
        found, stds = paired(chain, pool.graph.scale, both, positions)
        assert stds is not None
        reach = float(np.quantile(np.abs(found - ratings) / stds, COVERAGE))
        return math.log(max(reach / stds_for(COVERAGE), 1e-6))

    head.shift_log_std(log_correction())
    for side in Side:
        head.shift_unknown_log_std(side, log_correction(side))
