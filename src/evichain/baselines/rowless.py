"""Rowless factorization: the chain in which every item is a prototype, and no user."""

from typing import Any

from evichain.baselines._chain import EVERYONE, ChainBaseline, GeneratedSettings


class Rowless(ChainBaseline[GeneratedSettings]):
    """The rowless model of the paper (Tragas et al., 2018, section 2; after Verga et al., 2016).

    Items have vectors; those of users are generated from what they have rated,

        Û_u = 1/|Ω_u| Σ_{i in Ω_u} f(r_ui, V_i),  r_ui ≈ Û_u·V_i

    with a network f. It is the chain with every item as a prototype, no user, and a depth of 1.
    """

    Settings = GeneratedSettings

    def _form(self) -> dict[str, Any]:
        return {"prototype_users": 0, "prototype_items": EVERYONE, "max_depth": 1}
