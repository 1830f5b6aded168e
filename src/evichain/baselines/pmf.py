"""PMF: the chain in which every user and every item is a prototype."""

from typing import Any

from evichain.baselines._chain import EVERYONE, ChainBaseline, PrototypeSettings


class PMF(ChainBaseline[PrototypeSettings]):
    """Probabilistic Matrix Factorization (Mnih and Salakhutdinov, 2008, NIPS).

    The rating of item i by user u is `U_u·V_i`, and its vectors are learned by

        min Σ (r_ui - U_u·V_i)² + λ (|U|² + |V|²)

    the logarithm of the posterior under Gaussian priors; here both sums are divided by the number
    of ratings, as REC's loss is. It is the chain with every user and every item as a prototype,
    so that nothing is generated.
    """

    Settings = PrototypeSettings

    def _form(self) -> dict[str, Any]:
        # The generators are there but never asked: the smallest will do.
        return {
            "prototype_users": EVERYONE,
            "prototype_items": EVERYONE,
            "max_depth": 0,
            "width": 1,
            "hidden_layers": 1,
            "pretrain_iterations": 0,
            "centring": False,
        }
