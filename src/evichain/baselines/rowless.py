"""Rowless factorization: the chain in which every item is a prototype, and no user."""

from typing import Any

from pydantic import Field

from evichain.baselines._chain import EVERYONE, ChainBaseline, ChainSettings


class GeneratedSettings(ChainSettings):
    """The settings of `Rowless` and `Columnless`."""

    learning_rate: float = Field(default=2e-3, gt=0)
    """Adam's step size."""
    regularization: float = Field(default=1e-5, ge=0)
    """Lambda: the weight of the squared norm of all parameters beside the mean squared error."""
    width: int = Field(default=200, ge=1)
    """Neurons in each hidden layer of the generator."""
    hidden_layers: int = Field(default=2, ge=1)
    """Hidden layers of the generator; a linear one follows."""
    evidence_limit: int = Field(default=80, ge=1)
    """How many ratings an embedding is generated from, at most."""
    hide_targets: bool = True
    """Hide the ratings of a batch from the evidence, so that none helps to predict itself."""


class Rowless(ChainBaseline[GeneratedSettings]):
    """The rowless model of the paper (Tragas et al., 2018, section 2; after Verga et al., 2016).

    Items have vectors; those of users are generated from what they have rated,

        Û_u = 1/|Ω_u| Σ_{i in Ω_u} f(r_ui, V_i),  r_ui ≈ Û_u·V_i

    with a network f. It is the chain with every item as a prototype, no user, and a depth of 1.
    """

    Settings = GeneratedSettings

    def _form(self) -> dict[str, Any]:
        return {"prototype_users": 0, "prototype_items": EVERYONE, "max_depth": 1}
