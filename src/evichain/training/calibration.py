"""Calibration: doubts scaled so that intervals hold as many ratings as they say."""

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
    """Scale the doubt until the intervals around these pairs' estimates cover their share.

    The same again where nothing is known of the user, or of the item.

    Args:
        pairs: users and items whose ratings are in no evidence.
    """
    head = chain.head
    if not isinstance(head, BaselineHead) or len(ratings) < _FEWEST:
        return

    embedded, places = [], []
    for side in Side:
        distinct, place = np.unique(pairs[side], return_inverse=True)
        embedded.append(embeddings(chain, pool, policy, side, distinct))
        places.append(place)

    def missing(nobody: Side | None = None) -> float:
        """The logarithm of what deviations must grow by, where nothing is known of a side."""
        both = []
        for side in Side:
            rows, has_embedding = embedded[side]
            both.append(read(chain, side, rows, has_embedding & (side is not nobody)))
        found, stds = paired(chain, pool.graph.scale, both, places)
        assert stds is not None
        reach = float(np.quantile(np.abs(found - ratings) / stds, COVERAGE))
        return math.log(max(reach / stds_for(COVERAGE), 1e-6))

    head.shift_log_std(missing())
    for side in Side:
        head.shift_unknown_log_std(side, missing(side))
