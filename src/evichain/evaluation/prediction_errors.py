"""How far predictions are from ratings: RMSE, MAE and the coverage of intervals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evichain.kernels import Flags, Floats
from evichain.protocol import COVERAGE, Predictions, stds_for
from evichain.ratings.scale import Scale

Selection = Flags | slice


@dataclass(frozen=True)
class ErrorMetrics:
    """Errors on test ratings. Impossible predictions count with their fallback estimate.

    Attributes:
        rmse, mae: NaN for a recommender whose estimates are scores, and no ratings.
        ratings: the number of test ratings.
        impossible: the number of predictions that have no evidence, only a fallback estimate.
        interval_coverage: the share of ratings inside their intervals. The target is
            `evichain.protocol.COVERAGE`. None for a model without standard deviations.
        rmse_within_scale: the RMSE with estimates clipped to a scale; None without a scale.
    """

    rmse: float
    mae: float
    ratings: int
    impossible: int
    interval_coverage: float | None = None
    rmse_within_scale: float | None = None


@dataclass(frozen=True, eq=False)
class PredictionErrors:
    """The error of every test rating, so that any selection of them can be summarized."""

    errors: Floats
    impossible: Flags
    inside_interval: Flags | None = None
    errors_within_scale: Floats | None = None

    @classmethod
    def of(cls, found: Predictions, ratings: Floats, scale: Scale | None) -> "PredictionErrors":
        """The errors of predictions, beside the ratings given."""
        errors = found.estimates - ratings
        inside = within = None
        if found.stds is not None:
            inside = np.abs(errors) <= stds_for(COVERAGE) * found.stds
        if scale is not None:
            within = scale.within(found.estimates) - ratings
        impossible = np.array([reason is not None for reason in found.reasons], np.bool_)
        return cls(errors, impossible, inside, within)

    def metrics(self, chosen: Selection = slice(None)) -> ErrorMetrics:
        """The metrics of some ratings, of all by default."""
        errors = self.errors[chosen]
        return ErrorMetrics(
            rmse=root_mean_square(errors),
            mae=float(np.mean(np.abs(errors), dtype=np.float64)),
            ratings=len(errors),
            impossible=int(self.impossible[chosen].sum()),
            interval_coverage=_share(self.inside_interval, chosen),
            rmse_within_scale=None
            if self.errors_within_scale is None
            else root_mean_square(self.errors_within_scale[chosen]),
        )


def root_mean_square(errors: npt.NDArray[Any]) -> float:
    """The square root of the mean square.

    >>> root_mean_square(np.array([3, -3]))
    3.0
    """
    return float(np.sqrt(np.mean(np.square(errors, dtype=np.float64))))


def _share(flags: Flags | None, chosen: Selection) -> float | None:
    return None if flags is None else float(np.mean(flags[chosen]))
