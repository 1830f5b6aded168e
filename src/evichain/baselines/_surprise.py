"""What the baselines that Surprise provides share: the optional import, and its training set."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from pydantic import Field

from evichain.baselines._base import Baseline, BaselineSettings, Learned
from evichain.errors import require
from evichain.kernels import Floats, Ints
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side

if TYPE_CHECKING:
    import surprise

_LARGEST_SEED = 2**32


class FactorSettings(BaselineSettings):
    """The settings of factorizations by stochastic gradient descent."""

    factors: int = Field(default=100, ge=1, le=4096)
    """The length of a vector."""
    epochs: int = Field(default=80, ge=0)
    """Passes over the ratings."""
    learning_rate: float = Field(default=5e-3, gt=0)
    """The step size."""
    regularization: float = Field(default=0.1, ge=0)
    """Lambda: how strongly a rating shrinks the parameters it updates towards zero."""

    @property
    def options(self) -> dict[str, Any]:
        """The same as Surprise calls them."""
        return {
            "n_factors": self.factors,
            "n_epochs": self.epochs,
            "lr_all": self.learning_rate,
            "reg_all": self.regularization,
            "random_state": self.seed % _LARGEST_SEED,
        }


Chosen = TypeVar("Chosen", bound=BaselineSettings)


class SurpriseBaseline(Baseline[Chosen]):
    """A baseline that Surprise trains.

    Attributes:
        learned: the parts of a trained algorithm that hold the numbers it has learned.
    """

    learned: ClassVar[tuple[str, ...]]

    @abstractmethod
    def _algorithm(self) -> "surprise.AlgoBase":
        """The algorithm with our settings."""

    @classmethod
    def check_installed(cls) -> None:
        """Raise an error if Surprise is not installed."""
        require("surprise", f"{cls.__name__} needs Surprise", "baselines")

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        self.check_installed()
        algorithm = self._algorithm()
        name = f"Training {type(self).__name__}"
        # Surprise does not report its epochs.
        with progress_bar(name, 1, enabled=progress, unit="model") as bar:
            algorithm.fit(training_set(graph))
            bar()

        def scores(users: Ints, items: Ints) -> Floats:
            pairs = zip(users.tolist(), items.tolist(), strict=True)
            found = (algorithm.predict(*pair, clip=False).est for pair in pairs)
            return np.fromiter(found, np.float32, len(users))

        return Learned(scores, sum(np.size(getattr(algorithm, part)) for part in self.learned))


def training_set(graph: Graph) -> "surprise.Trainset":
    """The ratings as Surprise wants them, entities named by their index."""
    from surprise import Dataset, Reader

    scale = graph.scale
    # Of a single rating it would make an empty scale.
    reader = Reader(rating_scale=(scale.low, max(scale.high, scale.low + 1)))
    rows = graph.rows[Side.USER]
    users = np.repeat(np.arange(len(rows)), rows.degrees).tolist()
    ratings = scale.decode(rows.codes).tolist()
    columns = users, rows.indices.tolist(), ratings, [None] * len(users)
    return Dataset(reader).construct_trainset(list(zip(*columns, strict=True)))
