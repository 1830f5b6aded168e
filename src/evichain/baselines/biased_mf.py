"""Biased-MF: matrix factorization with a bias for each user and item. From Surprise."""

from typing import TYPE_CHECKING

from evichain.baselines._surprise import FactorSettings, SurpriseBaseline

if TYPE_CHECKING:
    import surprise


class BiasedMF(SurpriseBaseline[FactorSettings]):
    """Biased matrix factorization (Koren, Bell and Volinsky, 2009, Computer 42(8)).

    The rating of item i by user u is `μ + b_u + b_i + q_i·p_u`, learned by stochastic gradient
    descent on

        Σ (r_ui - μ - b_u - b_i - q_i·p_u)² + λ (b_u² + b_i² + |q_i|² + |p_u|²)

    over all ratings (`surprise.SVD`).
    """

    Settings = FactorSettings
    learned = ("bu", "bi", "pu", "qi")

    def _algorithm(self) -> "surprise.AlgoBase":
        from surprise import SVD

        return SVD(**self.settings.options)
