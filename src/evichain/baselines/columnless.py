"""Columnless factorization: the chain in which every user is a prototype, and no item."""

from typing import Any

from evichain.baselines._chain import EVERYONE, ChainBaseline, GeneratedSettings


class Columnless(ChainBaseline[GeneratedSettings]):
    """The columnless model of the paper (Tragas et al., 2018, section 2).

    Users have vectors; those of items are generated from how they were rated,

        V̂_i = 1/|Ω_i| Σ_{u in Ω_i} f(r_ui, U_u),  r_ui ≈ U_u·V̂_i

    with a network f. It is the chain with every user as a prototype, no item, and a depth of 1.
    """

    Settings = GeneratedSettings

    def _form(self) -> dict[str, Any]:
        return {"prototype_users": EVERYONE, "prototype_items": 0, "max_depth": 1}
