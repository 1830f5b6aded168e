"""What PMF, rowless and columnless models share: they are the chain with other prototypes."""

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
from pydantic import Field

from evichain.baselines._base import Baseline, BaselineSettings, Learned
from evichain.kernels import Floats, Ints
from evichain.model.chain import Chain
from evichain.protocol import Predictions
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.recommender import REC

EVERYONE = 2**31 - 1
"""More prototypes than there can be entities."""


class PrototypeSettings(BaselineSettings):
    """Settings of a chain of prototypes; all are passed to `evichain.REC`."""

    embedding_size: int = Field(default=20, ge=1, le=4096)
    """K: the length of an embedding."""
    iterations: int = Field(default=2000, ge=0)
    """Maximum number of steps."""
    batch_size: int = Field(default=1000, ge=1)
    """Ratings per step."""
    learning_rate: float = Field(default=5e-3, gt=0)
    """Adam's step size."""
    regularization: float = Field(default=2.5, ge=0)
    """Lambda: the weight of the squared norm of all parameters beside the squared errors of all
    ratings."""
    validation: float = Field(default=0.05, ge=0, lt=1)
    """The share of the training ratings held out for early stopping; with 0, all steps run."""
    validate_every: int = Field(default=100, ge=1)
    """Steps between two validations."""
    patience: int = Field(default=5, ge=1)
    """Validations without improvement after which training stops."""


class GeneratedSettings(PrototypeSettings):
    """Settings of a chain that generates one side."""

    learning_rate: float = Field(default=2e-3, gt=0)
    """Adam's step size."""
    regularization: float = Field(default=1.0, ge=0)
    """Lambda: the weight of the squared norm of all parameters beside the squared errors of all
    ratings."""
    width: int = Field(default=200, ge=1, le=8192)
    """Neurons in each hidden layer of the generator."""
    hidden_layers: int = Field(default=2, ge=1, le=8)
    """Hidden layers of the generator; a linear one follows."""
    evidence_limit: int = Field(default=80, ge=1, le=2**31)
    """Maximum number of ratings that an embedding is generated from."""
    hide_targets: bool = True
    """Hide the ratings of a batch from the evidence, so that none predicts itself."""


Chosen = TypeVar("Chosen", bound=PrototypeSettings)


class ChainBaseline(Baseline[Chosen]):
    """A baseline that is a configuration of `REC`."""

    _chain: REC | None = None

    @abstractmethod
    def _form(self) -> dict[str, Any]:
        """The settings that make the chain this model: the prototypes and the depth."""

    @property
    def chain(self) -> REC:
        """The `REC` that does the work."""
        return self._chain or REC("paper")

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        given = self.settings.model_dump()
        # REC's loss has the mean of the squared errors where ours has their sum.
        given["regularization"] /= max(1, round(len(graph) * (1 - given["validation"])))
        if not given["validation"]:
            given["patience"] = 0
        chain = REC("paper", **given, **self._form()).fit(graph.to_ratings(), progress=progress)
        self._chain = chain

        def scores(users: Ints, items: Ints) -> Floats:
            pair = users, items
            names = (graph.ids[side].values.gather(pair[side]) for side in Side)
            return np.asarray(chain.predict(*names).estimates, np.float32)

        figures = {name: chain.training[name] for name in ("steps", "seconds", "validation_rmse")}
        return Learned(scores, _size(chain.backend.chain), figures)

    def _predict(self, asked: tuple[list[Any], list[Any]]) -> Predictions:
        # Only the chain knows the reason why it has no estimate.
        found = self.chain.predict(*asked)
        return Predictions(self.graph.scale.within(found.estimates), found.reasons)


def _size(chain: Chain) -> int:
    """The learned parameters: vectors, and the generator of a side without vectors."""
    stored = [chain.prototypes[side] for side in Side]
    asked = [chain.generator(side, 0) for side in Side if not len(stored[side])]
    learned = [*stored, *(part for generator in asked for part in generator.parameters())]
    return sum(part.numel() for part in learned)
