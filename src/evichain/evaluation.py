"""How far the predictions of any recommender are from ratings."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from evichain.errors import DataError
from evichain.kernels import Floats
from evichain.protocol import COVERAGE, Recommender, stds_for
from evichain.ratings.inputs import as_ratings
from evichain.ratings.scale import Scale
from evichain.ratings.side import Side


@dataclass(frozen=True)
class Evaluation:
    """Errors on ratings; impossible predictions count with what they gave instead.

    `covered` is the share of ratings within their intervals, which is to be
    `evichain.protocol.COVERAGE`; None for a model that tells no deviations. `rmse_within` is with
    estimates cut to a scale; None where none was given.
    """

    rmse: float
    mae: float
    ratings: int
    impossible: int
    covered: float | None = None
    rmse_within: float | None = None


def evaluate(recommender: Recommender, test: Any, *, scale: Scale | None = None) -> Evaluation:
    """The errors of a recommender on ratings that it has not seen; there has to be one.

    Args:
        scale: tell the error with estimates cut to it, too.
    """
    table = as_ratings(test)
    if not len(table):
        raise DataError("no ratings to test on", where=table.name, right="Give one or more.")
    found = recommender.predict(*(table.frame[side.column] for side in Side))
    given = table.frame["rating"].to_numpy()
    errors = found.estimates - given
    covered = None
    if found.stds is not None:
        reach = stds_for(COVERAGE) * found.stds
        covered = float(np.mean(np.abs(errors) <= reach))
    within = None
    if scale is not None:
        within = _root_mean_square(scale.within(found.estimates) - given)
    return Evaluation(
        rmse=_root_mean_square(errors),
        mae=float(np.mean(np.abs(errors), dtype=np.float64)),
        ratings=len(table),
        impossible=sum(reason is not None for reason in found.reasons),
        covered=covered,
        rmse_within=within,
    )


def _root_mean_square(errors: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(errors, dtype=np.float64))))
