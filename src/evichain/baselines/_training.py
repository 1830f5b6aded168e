"""The training loop of baselines that train in epochs, with early stopping and one random seed.

A learner makes one pass at a time and can predict after each. The pass with the lowest validation
error is kept.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from evichain.baselines._base import Baseline, BaselineSettings, Learned, finite
from evichain.baselines._rated_pairs import RatedPairs, all_pairs, cut
from evichain.kernels import Floats, Ints, Longs
from evichain.progress import Advance
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.training.averaging import decay_at
from evichain.training.memory import keep_freed_memory


class EpochSettings(BaselineSettings):
    """Settings of every baseline that trains in epochs."""

    epochs: int = Field(default=100, ge=0)
    """Maximum number of passes over the training ratings."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """The step size."""
    validation: float = Field(default=0.05, ge=0, lt=1)
    """The share of the training ratings held out for early stopping; with 0, all epochs run."""
    validate_every: int = Field(default=1, ge=1)
    """Epochs between two validations."""
    patience: int = Field(default=5, ge=1)
    """Validations without improvement after which training stops; the best epoch is kept."""
    refit: bool = False
    """Train again on all ratings, for the number of epochs that validated best."""
    annealing: bool = True
    """Lower the step size along half a cosine, to zero after the last epoch."""


Net = TypeVar("Net", bound=nn.Module)


class Learner(ABC, Generic[Net]):
    """Trains a net in epochs; its weights are all the state there is."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self._optimizer: torch.optim.Optimizer | None = None
        self._average: AveragedModel | None = None

    def optimize(self, optimizer: torch.optim.Optimizer, averaging: float = 0.0) -> None:
        """Set the optimizer of the net's weights.

        Args:
            averaging: decay of the running average of weights, which then makes the predictions;
                0 for no average.
        """
        self._optimizer = optimizer
        if averaging:
            self._average = AveragedModel(self.net, multi_avg_fn=_averaging(averaging))

    @abstractmethod
    def epoch(self) -> None:
        """Make one pass over the training ratings."""

    def prepare(self, known: RatedPairs) -> None:
        """Prepare for `scores`; models that predict from ratings predict from these."""

    @abstractmethod
    def scores(self, users: Ints, items: Ints) -> Floats:
        """The predicted ratings, by the weights at the last `prepare`."""

    @property
    def result(self) -> Net:
        """The net that predicts: the average of the weights if there is one."""
        if self._average is None:
            return self.net
        averaged: Net = self._average.module  # type: ignore[assignment]
        return averaged

    def descend(self, loss: Tensor) -> None:
        """Compute the gradient of a loss and make a step."""
        assert self._optimizer is not None
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.step()

    def step(self) -> None:
        """Make a step along the gradient stored in the weights."""
        assert self._optimizer is not None
        self._optimizer.step()
        if self._average is not None:
            self._average.update_parameters(self.net)

    def restore(self, state: dict[str, Tensor] | None) -> None:
        """Load the weights of an earlier epoch."""
        if state is not None:
            self.result.load_state_dict(state)

    def pace(self, share: float) -> None:
        """Scale the learning rate by this share."""
        for group in self._optimizer.param_groups if self._optimizer else ():
            group["lr"] = share * group.setdefault("initial_lr", group["lr"])


Chosen = TypeVar("Chosen", bound=EpochSettings)


class EpochBaseline(Baseline[Chosen]):
    """A baseline that learns in epochs."""

    @abstractmethod
    def _learner(self, graph: Graph, pairs: RatedPairs, draws: np.random.Generator) -> Learner[Any]:
        """The learner of these ratings of a graph.

        Args:
            draws: the random generator; PyTorch's own is seeded too.
        """

    def _learn(self, graph: Graph, *, progress: bool) -> Learned:
        settings = self.settings
        draws = np.random.default_rng(settings.seed)
        everything = all_pairs(graph)
        pairs, held = cut(everything, settings.validation, draws)
        keep_freed_memory()
        begun = time.monotonic()
        name = f"Training {type(self).__name__}"
        with (
            seeded(settings.seed),
            progress_bar(name, settings.epochs, enabled=progress, unit="epochs") as bar,
        ):
            learner = self._learner(graph, pairs, draws)
            figures = _train(learner, (pairs, held), graph, settings, settings.epochs, bar)
            if settings.refit and held is not None:
                learner = self._learner(graph, everything, draws)
                again = figures["best_epoch"]
                _train(learner, (everything, None), graph, settings, again, bar)
            learner.prepare(everything)
        figures["seconds"] = round(time.monotonic() - begun, 3)
        parameters = sum(p.numel() for p in learner.result.parameters())
        return Learned(learner.scores, parameters, figures)


def batches(count: int, size: int, draws: np.random.Generator) -> Iterator[Longs]:
    """The indices below `count` in random order, in batches."""
    order = draws.permutation(count)
    for start in range(0, count, size):
        yield order[start : start + size]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed PyTorch's shared generator, and restore it afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def _train(
    learner: Learner[Any],
    parts: tuple[RatedPairs, RatedPairs | None],
    graph: Graph,
    settings: EpochSettings,
    epochs: int,
    bar: Advance,
) -> dict[str, Any]:
    """Train until the last epoch or until validation stops improving; returns the figures."""
    pairs, held = parts
    best, best_epoch, epoch, looks = np.inf, 0, 0, 0
    state: dict[str, Tensor] | None = None
    while epoch < epochs and looks < settings.patience:
        if settings.annealing:
            learner.pace((1 + math.cos(math.pi * epoch / settings.epochs)) / 2)
        learner.epoch()
        epoch += 1
        if held is None or (epoch % settings.validate_every and epoch < epochs):
            bar()
            continue
        learner.prepare(pairs)
        rmse = _error(learner, held, graph)
        bar(validation=rmse)
        looks += 1
        if rmse < best:
            best, best_epoch, looks = rmse, epoch, 0
            state = {name: part.clone() for name, part in learner.result.state_dict().items()}
    learner.restore(state)
    if held is None:
        return {"epochs": epoch}
    return {"epochs": epoch, "best_epoch": best_epoch, "validation_rmse": best}


def _error(learner: Learner[Any], held: RatedPairs, graph: Graph) -> float:
    found = graph.scale.within(finite(learner.scores(held.users, held.items)))
    return float(np.sqrt(np.mean((found - held.ratings) ** 2)))


def _averaging(averaging: float) -> Callable[[Any, Any, Any], None]:
    """The averaging function that `AveragedModel` takes."""

    @torch.no_grad()
    def average(old: Sequence[Tensor], new: Sequence[Tensor], count: Tensor | int) -> None:
        torch._foreach_lerp_(list(old), list(new), 1 - decay_at(averaging, int(count)))

    return average
