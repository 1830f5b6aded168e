"""SVD++: biased factorization that also knows what a user has rated at all. From Surprise."""

from typing import TYPE_CHECKING

from pydantic import Field

from evichain.baselines._surprise import FactorSettings, SurpriseBaseline

if TYPE_CHECKING:
    import surprise


class SVDppSettings(FactorSettings):
    """The settings of `SVDpp`."""

    factors: int = Field(default=20, ge=1, le=4096)
    """The length of a vector."""
    epochs: int = Field(default=60, ge=0)
    """Passes over the ratings."""
    learning_rate: float = Field(default=7e-3, gt=0)
    """The step size."""


class SVDpp(SurpriseBaseline[SVDppSettings]):
    """SVD++ (Koren, 2008, KDD).

    The rating of item i by user u, who has rated the items N(u), is

        μ + b_u + b_i + q_i·(p_u + |N(u)|^(-1/2) Σ_{j in N(u)} y_j)

    learned by stochastic gradient descent on the regularized squared error (`surprise.SVDpp`).
    """

    Settings = SVDppSettings
    learned = ("bu", "bi", "pu", "qi", "yj")

    def _algorithm(self) -> "surprise.AlgoBase":
        from surprise import SVDpp as Algorithm

        return Algorithm(**self.settings.options, cache_ratings=True)
