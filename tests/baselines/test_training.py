"""The loop over epochs: what it learns from, when it stops, what it keeps."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from evichain.baselines._rated_pairs import RatedPairs, all_pairs, cut
from evichain.baselines._training import EpochBaseline, EpochSettings, Learner
from evichain.errors import SettingsError
from evichain.kernels import Floats, Ints
from evichain.ratings.graph import Graph
from evichain.testing import planted_blocks


class Guess(nn.Module):
    """One number for all ratings."""

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.zeros(()))


class Steps(Learner[Guess]):
    """Says the next of some values after each epoch."""

    def __init__(self, values: list[float], pairs: RatedPairs) -> None:
        super().__init__(Guess())
        self.values, self.pairs, self.known = values, pairs, [pairs]
        self.paces: list[float] = []
        self.optimize(torch.optim.SGD(self.net.parameters(), lr=1.0))

    def epoch(self) -> None:
        assert self._optimizer is not None
        self.paces.append(self._optimizer.param_groups[0]["lr"])
        with torch.no_grad():
            self.net.value.fill_(self.values.pop(0))

    def prepare(self, known: RatedPairs) -> None:
        self.known.append(known)

    def scores(self, users: Ints, items: Ints) -> Floats:
        return np.full(len(users), self.result.value.item(), np.float32)


class Stepping(EpochBaseline[EpochSettings]):
    """Tries these values in turn."""

    Settings = EpochSettings
    values: tuple[float, ...] = (1.0, 2.9, 3.0, 4.0, 5.0, 3.0)
    learner: Steps

    def _learner(self, graph: Graph, pairs: RatedPairs, draws: np.random.Generator) -> Learner[Any]:
        self.learner = Steps(list(self.values), pairs)
        return self.learner


def test_the_best_epoch_is_kept_and_patience_ends_training() -> None:
    model = Stepping(epochs=6, patience=2, validation=0.1).fit(planted_blocks())
    assert model.training["epochs"] == 5
    assert model.training["best_epoch"] in (2, 3)
    assert model.predict(0, 0).estimate == pytest.approx(3.0, abs=0.11)
    assert model.training["validation_rmse"] == pytest.approx(2.0, abs=0.05)


def test_without_validation_ratings_all_epochs_are_made() -> None:
    model = Stepping(epochs=5, validation=0).fit(planted_blocks())
    assert model.training["epochs"] == 5
    assert model.predict(0, 0).estimate == 5.0
    assert "validation_rmse" not in model.training


def test_a_refit_learns_from_all_ratings_for_the_best_number_of_epochs() -> None:
    ratings = planted_blocks()
    model = Stepping(epochs=6, patience=2, validation=0.1, refit=True).fit(ratings)
    assert len(model.learner.pairs) == len(ratings)
    best = model.training["best_epoch"]
    assert len(model.learner.values) == len(model.values) - best
    assert model.predict(0, 0).estimate == pytest.approx(model.values[best - 1])
    assert model.training["validation_rmse"] == pytest.approx(2.0, abs=0.05)


def test_validation_ratings_come_from_the_ratings_given_and_are_not_learned_from() -> None:
    ratings = planted_blocks()
    model = Stepping(epochs=2, validation=0.25).fit(ratings)
    everything = all_pairs(model.graph)
    kept, held = cut(everything, 0.25, np.random.default_rng(0))
    assert held is not None
    seen, of_held = ({*zip(p.users, p.items, strict=True)} for p in (model.learner.pairs, held))
    assert not seen & of_held
    assert seen | of_held == {*zip(everything.users, everything.items, strict=True)}
    assert len(held) == round(len(ratings) / 4)
    # While it learns it answers from what it learns from, in the end from all that is known.
    lengths = [len(known) for known in model.learner.known]
    assert lengths == [len(kept)] * 3 + [len(ratings)]


def test_steps_become_shorter_along_a_cosine() -> None:
    model = Stepping(epochs=4, validation=0).fit(planted_blocks())
    wanted = [(1 + np.cos(np.pi * epoch / 4)) / 2 for epoch in range(4)]
    assert model.learner.paces == pytest.approx(wanted)
    model = Stepping(epochs=4, validation=0, annealing=False).fit(planted_blocks())
    assert model.learner.paces == [1.0] * 4


def test_divergence_is_an_error_that_names_the_setting() -> None:
    model = Stepping(epochs=2)
    model.values = (float("nan"),)
    with pytest.raises(SettingsError, match="learning_rate: training diverged"):
        model.fit(planted_blocks())


def test_an_average_of_weights_answers() -> None:
    learner = Steps([4.0, 8.0], all_pairs(Graph.build(planted_blocks())))
    learner.optimize(torch.optim.SGD(learner.net.parameters(), lr=1.0), averaging=0.5)
    for _ in range(2):
        learner.epoch()
        learner.net.value.grad = torch.zeros(())
        learner.step()
    # The first counts as it is; the second enters with 1 - 2/11.
    assert learner.scores(np.zeros(1, np.int32), np.zeros(1, np.int32))[0] == pytest.approx(
        4 * 2 / 11 + 8 * 9 / 11
    )


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    Stepping(epochs=2).fit(planted_blocks())
    assert not capsys.readouterr().err
    Stepping(epochs=2).fit(planted_blocks(), progress=True)
    assert "Training Stepping" in capsys.readouterr().err
