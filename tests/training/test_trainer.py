"""Training: it learns, it is reproducible, and a killed run ends as if it had not been."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from evichain.errors import ModelError
from evichain.evidence.plan import make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import hide
from evichain.model.chain import Chain
from evichain.model.settings import ChainSettings
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.splits import random_split
from evichain.recipes import settings_for
from evichain.testing import planted_blocks
from evichain.training.settings import TrainingSettings
from evichain.training.trainer import Trainer, learning_rate, make_batch

POLICY = Policy(evidence_limit=20, max_depth=2)
QUICK = TrainingSettings(
    iterations=120,
    batch_size=200,
    learning_rate=5e-3,
    pretrain_iterations=200,
    checkpoint_every=10,
    validate_every=5,
)

LONG = QUICK.model_copy(update={"iterations": 120, "patience": 100, "validation": 0.1})


def a_trainer(settings: TrainingSettings = QUICK, seed: int = 0) -> Trainer:
    cut = random_split(planted_blocks(noise=0.02, seed=seed), 0.9, 1)
    graph = Graph.build(cut.train)
    pool = Pool.most_rated(graph, (10, 10))
    torch.manual_seed(0)
    chain = Chain(ChainSettings(embedding_size=8, width=32), (10, 10), graph.mean)
    index = [graph.ids[side].index(cut.test.frame[side.column]) for side in Side]
    held = (index[0], index[1], cut.test.frame["rating"].to_numpy())
    return Trainer(chain, pool, POLICY, settings, held)


def weights(trainer: Trainer) -> list[torch.Tensor]:
    return [p.detach().clone() for p in trainer.chain.parameters()]


def test_it_learns_and_repeats_itself() -> None:
    first, second = a_trainer(), a_trainer()
    before = first.validation_rmse()
    first.train()
    second.train()
    assert first.validation_rmse() < min(0.5 * before, 1.5)
    assert all(torch.equal(a, b) for a, b in zip(weights(first), weights(second), strict=True))
    other = a_trainer(QUICK.model_copy(update={"seed": 1}))
    other.train()
    assert not torch.equal(weights(first)[0], weights(other)[0])


def test_stopping_keeps_the_best_state() -> None:
    trainer = a_trainer(QUICK.model_copy(update={"iterations": 2000, "patience": 3}))
    progress = trainer.train()
    assert progress.step < 2000
    assert progress.best_rmse is not None
    assert trainer.validation_rmse() == pytest.approx(progress.best_rmse)
    assert progress.step - progress.best_step == 3 * QUICK.validate_every


def test_hidden_targets_are_in_no_evidence() -> None:
    pool = a_trainer().pool
    shown = make_batch(pool, POLICY, QUICK, 0)
    hidden = make_batch(pool, POLICY, QUICK.model_copy(update={"hide_targets": True}), 0)
    assert torch.equal(shown.ratings, hidden.ratings)
    assert hidden.plan.links < shown.plan.links
    users, items, _ = pool.graph.pairs(np.arange(len(pool.graph)))
    assert make_plan(pool, POLICY, users, items).links > 0
    assert make_plan(pool, POLICY, users, items, hidden=hide(users, items)).links == 0


RUN = """
import sys
from pathlib import Path
from typing import Any
sys.path.insert(0, {tests!r})
from tests.training.test_trainer import LONG, a_trainer
trainer = a_trainer(LONG)
trainer.watch = lambda step, values: print(step, flush=True)
trainer.train(Path({run!r}), resume=True)
"""


def test_a_killed_run_resumes_to_the_same_weights(tmp_path: Path) -> None:
    whole = a_trainer(LONG)
    whole.train(tmp_path / "whole")

    script = textwrap.dedent(RUN).format(
        tests=str(Path(__file__).parents[2]), run=str(tmp_path / "killed")
    )
    kills = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for seen, _ in enumerate(process.stdout, start=1):
            if kills < 3 and seen == 23:
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                break
        process.stdout.close()
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL
    assert kills == 3
    ours, theirs = (
        load_file(tmp_path / name / "checkpoint.safetensors") for name in ("killed", "whole")
    )
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    logs = []
    for name in ("killed", "whole"):
        lines = (tmp_path / name / "log.jsonl").read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        for entry in entries:
            del entry["seconds"]
        logs.append(entries)
    assert logs[0] == logs[1]
    assert [entry["step"] for entry in logs[0]] == list(range(1, 121))


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    a_trainer().train(tmp_path)
    with pytest.raises(ModelError, match="other settings, other ratings or another version"):
        a_trainer(QUICK.model_copy(update={"batch_size": 32})).train(tmp_path, resume=True)
    with pytest.raises(ModelError, match="other settings, other ratings or another version"):
        a_trainer(seed=5).train(tmp_path, resume=True)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"half a file")
    with pytest.raises(ModelError, match="no readable checkpoint"):
        a_trainer().train(tmp_path, resume=True)


def test_a_checkpoint_of_before_the_last_look_was_kept_goes_on(tmp_path: Path) -> None:
    first = a_trainer()
    assert first.train(tmp_path).last_rmse == pytest.approx(first.validation_rmse())
    path = tmp_path / "checkpoint.safetensors"
    with safe_open(path, framework="pt") as file:
        meta = file.metadata()
    progress = json.loads(meta["progress"])
    del progress["last_rmse"]
    save_file(load_file(path), path, {**meta, "progress": json.dumps(progress)})
    again = a_trainer()
    assert again.train(tmp_path, resume=True).last_rmse is None
    assert all(torch.equal(a, b) for a, b in zip(weights(first), weights(again), strict=True))


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    first = a_trainer()
    first.train(tmp_path)
    stamp = (tmp_path / "checkpoint.safetensors").stat().st_mtime_ns
    again = a_trainer()
    again.train(tmp_path, resume=True)
    assert (tmp_path / "checkpoint.safetensors").stat().st_mtime_ns == stamp
    assert all(torch.equal(a, b) for a, b in zip(weights(first), weights(again), strict=True))


def test_annealing_goes_from_the_whole_step_size_to_nothing() -> None:
    rates = [learning_rate(QUICK, step) for step in range(QUICK.iterations + 1)]
    assert rates[0] == QUICK.learning_rate
    assert rates[-1] == pytest.approx(0)
    assert rates == sorted(rates, reverse=True)
    constant = QUICK.model_copy(update={"annealing": False})
    assert learning_rate(constant, 100) == QUICK.learning_rate


def a_plus_trainer(**changes: Any) -> Trainer:
    settings = settings_for(
        "plus", iterations=30, embedding_size=4, key_size=3, width=6, checkpoint_every=7, **changes
    )
    cut = random_split(planted_blocks(), 0.9, 1)
    graph = Graph.build(cut.train)
    pool = Pool.most_rated(graph, (10, 10))
    torch.manual_seed(0)
    chain = Chain(settings.chain, (10, 10), graph.mean, std=graph.std, depths=3)
    index = [graph.ids[side].index(cut.test.frame[side.column]) for side in Side]
    held = (index[0], index[1], cut.test.frame["rating"].to_numpy())
    return Trainer(chain, pool, settings.policy, settings.training, held)


class StopError(Exception):
    """What ends a run in its middle."""


def test_a_run_with_averaged_weights_resumes_exactly(tmp_path: Path) -> None:
    whole, broken, resumed = a_plus_trainer(), a_plus_trainer(), a_plus_trainer()
    whole.train()

    def stop(step: int, values: dict[str, float]) -> None:
        if step == 17:
            raise StopError

    broken.watch = stop
    with pytest.raises(StopError):
        broken.train(tmp_path)
    resumed.train(tmp_path, resume=True)
    assert all(torch.equal(a, b) for a, b in zip(weights(whole), weights(resumed), strict=True))
    other = a_plus_trainer(presence_channel=False)
    with pytest.raises(ModelError, match="other settings"):
        other.train(tmp_path, resume=True)


def test_strangers_are_asked_about_in_the_share_given() -> None:
    trainer = a_plus_trainer(unknown_share=0.4, batch_size=512, batch_share=1.0)
    batch = make_batch(trainer.pool, trainer.policy, trainer.settings, 3)
    unknown = [batch.plan.rows[side] < 0 for side in Side]
    assert not (unknown[0] & unknown[1]).any()
    for side in Side:
        assert unknown[side].mean() == pytest.approx(0.2, abs=0.06)
    assert not (make_batch(*_parts(a_plus_trainer(unknown_share=0.0)), 3).plan.rows[0] < 0).any()


def _parts(trainer: Trainer) -> tuple[Pool, Policy, TrainingSettings]:
    return trainer.pool, trainer.policy, trainer.settings


def test_the_gradient_limit_of_estimates_ignores_log_std() -> None:
    """With a gradient limit, the step of the estimates does not depend on that of log_std."""
    first, second = a_plus_trainer(), a_plus_trainer()
    with torch.no_grad():
        for layer in second.chain.head.log_stds:
            assert isinstance(layer, torch.nn.Linear)
            layer.bias.fill_(-6.0)
    for trainer in (first, second):
        trainer._step(make_batch(*_parts(trainer), 0))
    for name, value in first.chain.named_parameters():
        if not name.startswith("head.log_stds"):
            assert torch.equal(value, second.chain.get_parameter(name)), name
