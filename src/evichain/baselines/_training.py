"""Learning in epochs: one loop for all, with validation ratings to stop by and one source of draws.

A learner makes one pass at a time and answers from what it has learned so far. The best pass, by
the validation ratings, is the one that is kept.
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
from evichain.baselines._pairs import Pairs, all_pairs, cut
from evichain.kernels import Floats, Ints, Longs
from evichain.progress import Advance
from evichain.progress import progress as progress_bar
from evichain.ratings.graph import Graph
from evichain.training.averaging import decay_at
from evichain.training.memory import keep_freed_memory


class EpochSettings(BaselineSettings):
    """What everything that learns in epochs can be told."""

    epochs: int = Field(default=100, ge=0)
    """Passes over the training ratings, at most."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """The step size."""
    validation: float = Field(default=0.05, ge=0, lt=1)
    """The part of the training ratings kept aside to stop by; with none, all epochs are made."""
    validate_every: int = Field(default=1, ge=1)
    """Epochs between two looks at the validation ratings."""
    patience: int = Field(default=5, ge=1)
    """Looks without an improvement after which training stops; the best epoch is kept."""
    refit: bool = False
    """Learn again from all ratings, for as many epochs as were best by the validation ratings."""
    annealing: bool = True
    """Lower the step size along half a cosine, to nothing after the last epoch."""


Net = TypeVar("Net", bound=nn.Module)


class Learner(ABC, Generic[Net]):
    """Learns the weights of a net in epochs; all that is kept of an epoch is in them."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self._optimizer: torch.optim.Optimizer | None = None
        self._average: AveragedModel | None = None

    def optimize(self, optimizer: torch.optim.Optimizer, averaging: float = 0.0) -> None:
        """Make steps with an optimizer of the net's weights.

        Args:
            averaging: how much of the running average of weights a step keeps; answers come
                from the average. 0 for the weights themselves.
        """
        self._optimizer = optimizer
        if averaging:
            self._average = AveragedModel(self.net, multi_avg_fn=_running(averaging))

    @abstractmethod
    def epoch(self) -> None:
        """Make one pass over the training ratings."""

    def settle(self, known: Pairs) -> None:
        """Make ready to answer, from these ratings where a model answers from ratings."""

    @abstractmethod
    def scores(self, users: Ints, items: Ints) -> Floats:
        """What users would rate items, by what had been learned when last settled."""

    @property
    def result(self) -> Net:
        """The net that answers."""
        if self._average is None:
            return self.net
        averaged: Net = self._average.module  # type: ignore[assignment]
        return averaged

    def descend(self, loss: Tensor) -> None:
        """Make a step down the gradient of a loss."""
        assert self._optimizer is not None
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.step()

    def step(self) -> None:
        """Make a step down the gradient that the weights hold."""
        assert self._optimizer is not None
        self._optimizer.step()
        if self._average is not None:
            self._average.update_parameters(self.net)

    def restore(self, state: dict[str, Tensor] | None) -> None:
        """Go back to an earlier result."""
        if state is not None:
            self.result.load_state_dict(state)

    def pace(self, share: float) -> None:
        """Make steps of this share of their full length."""
        for group in self._optimizer.param_groups if self._optimizer else ():
            group["lr"] = share * group.setdefault("initial_lr", group["lr"])


Chosen = TypeVar("Chosen", bound=EpochSettings)


class EpochBaseline(Baseline[Chosen]):
    """A baseline that learns in epochs."""

    @abstractmethod
    def _learner(self, graph: Graph, pairs: Pairs, draws: np.random.Generator) -> Learner[Any]:
        """The learner of these ratings of a graph.

        Args:
            draws: where everything random comes from; PyTorch's own generator is seeded too.
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
            learner.settle(everything)
        figures["seconds"] = round(time.monotonic() - begun, 3)
        parameters = sum(p.numel() for p in learner.result.parameters())
        return Learned(learner.scores, parameters, figures)


def batches(count: int, size: int, draws: np.random.Generator) -> Iterator[Longs]:
    """All of `count` places in random order, some at a time."""
    order = draws.permutation(count)
    for start in range(0, count, size):
        yield order[start : start + size]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw what PyTorch draws from a seed, and leave its shared generator as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def _train(
    learner: Learner[Any],
    parts: tuple[Pairs, Pairs | None],
    graph: Graph,
    settings: EpochSettings,
    epochs: int,
    bar: Advance,
) -> dict[str, Any]:
    """Make epochs until there are enough; what came of them."""
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
        learner.settle(pairs)
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


def _error(learner: Learner[Any], held: Pairs, graph: Graph) -> float:
    found = graph.scale.within(finite(learner.scores(held.users, held.items)))
    return float(np.sqrt(np.mean((found - held.ratings) ** 2)))


def _running(averaging: float) -> Callable[[Any, Any, Any], None]:
    """A running average, as PyTorch wants it."""

    @torch.no_grad()
    def average(old: Sequence[Tensor], new: Sequence[Tensor], count: Tensor | int) -> None:
        torch._foreach_lerp_(list(old), list(new), 1 - decay_at(averaging, int(count)))

    return average
