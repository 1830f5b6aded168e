"""Calibration: doubts scaled so that intervals hold as many ratings as they say."""

import math

import numpy as np
import torch

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.kernels import Floats, Ints
from evichain.model.chain import Chain
from evichain.model.head import BaselineHead
from evichain.model.inference import estimates
from evichain.protocol import COVERAGE, deviations_for
from evichain.ratings.side import Side

_FEWEST = 20


def calibrate(
    chain: Chain, pool: Pool, policy: Policy, pairs: tuple[Ints, Ints], ratings: Floats
) -> None:
    """Scale the doubt until the intervals around these pairs' estimates cover their share.

    Args:
        pairs: users and items whose ratings are in no evidence.
    """
    if not isinstance(chain.head, BaselineHead) or len(ratings) < _FEWEST:
        return
    found, deviations, _ = estimates(chain, pool, policy, pairs)
    assert deviations is not None
    reach = float(np.quantile(np.abs(found - ratings) / deviations, COVERAGE))
    factor = max(reach / deviations_for(COVERAGE), 1e-6)
    with torch.no_grad():
        chain.head.shift_doubt(Side.USER, math.log(factor))
