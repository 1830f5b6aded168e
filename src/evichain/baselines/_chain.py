"""What PMF, rowless and columnless models share: they are the chain with other prototypes."""

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
from pydantic import Field

from evichain.baselines._base import Baseline, Learned
from evichain.baselines._settings import BaselineSettings
from evichain.kernels import Floats, Ints
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.recommender import REC

EVERYONE = 2**31 - 1
"""More prototypes than there can be entities."""


class ChainSettings(BaselineSettings):
    """What these models can be told; all of it goes to `evichain.REC`."""

    embedding_size: int = Field(default=20, ge=1)
    """K: the length of an embedding."""
    iterations: int = Field(default=2000, ge=0)
    """Steps, at most."""
    batch_size: int = Field(default=1000, ge=1)
    """Ratings in a step."""
    learning_rate: float = Field(default=5e-3, gt=0)
    """Adam's step size."""
    regularization: float = Field(default=2.5e-5, ge=0)
    """Lambda: the weight of the squared norm of all parameters beside the mean squared error."""
    validation: float = Field(default=0.05, ge=0, lt=1)
    """The part of the training ratings kept aside to stop by; with none, all steps are made."""
    validate_every: int = Field(default=100, ge=1)
    """Steps between two looks at the validation ratings."""
    patience: int = Field(default=5, ge=1)
    """Looks without an improvement after which training stops."""


Chosen = TypeVar("Chosen", bound=ChainSettings)


class ChainBaseline(Baseline[Chosen]):
    """A baseline that is a configuration of `REC`."""

    @abstractmethod
    def _form(self) -> dict[str, Any]:
        """What makes the chain this model: who is a prototype, and how deep it goes."""

    @property
    def chain(self) -> REC:
        """The recommender behind it, with all that it can do."""
        assert self._fitted
        return self._chain

    def configuration(self) -> dict[str, Any]:
        """All that is told to `REC("paper", ...)`."""
        told = self.settings.model_dump()
        if not told["validation"]:
            told["patience"] = 0
        return {**told, **self._form()}

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        chain = REC("paper", **self.configuration())
        chain.fit(graph.to_ratings(), progress=progress)
        self._chain = chain

        def scores(users: Ints, items: Ints) -> Floats:
            pair = users, items
            names = (graph.ids[side].values.gather(pair[side]) for side in Side)
            return np.asarray(chain.predict(*names).estimates, np.float32)

        figures = {name: chain.training[name] for name in ("steps", "seconds", "validation_rmse")}
        return Learned(scores, chain.parameter_count, figures)
