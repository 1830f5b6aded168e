"""Calibration: doubts scaled so that intervals hold as many ratings as they say."""

import math

import numpy as np

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints
from evichain.model.chain import Chain
from evichain.model.head import BaselineHead
from evichain.model.inference import estimates
from evichain.protocol import COVERAGE, deviations_for
from evichain.ratings.ids import UNKNOWN
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

    def missing(users: Ints, items: Ints) -> float:
        """The logarithm of what deviations must grow by."""
        found, deviations, _ = estimates(chain, pool, policy, (users, items))
        assert deviations is not None
        reach = float(np.quantile(np.abs(found - ratings) / deviations, COVERAGE))
        return math.log(max(reach / deviations_for(COVERAGE), 1e-6))

    users, items = pairs
    nobody = np.full_like(users, UNKNOWN)
    head.shift_doubt(missing(users, items))
    head.shift_strangeness(Side.USER, missing(nobody, items))
    head.shift_strangeness(Side.ITEM, missing(users, nobody))
