"""The trainer: pretraining, then steps of Adam on batches with their evidence."""

import itertools
import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from evichain.errors import SettingsError, reported_as
from evichain.evidence.entity_sample import draw_entity_sample
from evichain.evidence.holdout import are_held_out
from evichain.evidence.plan import Plan, make_plan
from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.evidence.selection import STABLE, Hidden, hide
from evichain.kernels import Floats, Ints, Longs
from evichain.model.chain import Chain, RequestRows
from evichain.model.inference import estimates
from evichain.ratings.ids import UNKNOWN
from evichain.training.averaging import decay_at
from evichain.training.batches import batch_positions
from evichain.training.calibration import calibrate
from evichain.training.checkpoint import (
    Progress,
    Weights,
    copy_weights,
    load_checkpoint,
    save_checkpoint,
)
from evichain.training.device import CPU
from evichain.training.distributed import SINGLE_PROCESS, ProcessGroup
from evichain.training.log import RunLog
from evichain.training.memory import keep_freed_memory
from evichain.training.prefetch import prefetched
from evichain.training.pretraining import pretrain
from evichain.training.settings import TrainingSettings
from evichain.training.training_data import RatedPairs

Watch = Callable[[int, dict[str, float]], None]

_LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Batch:
    """The ratings of a step and the plan of their evidence.

    `weight` is their share of the whole batch; other processes have the rest.
    """

    plan: Plan
    ratings: Tensor
    weight: float = 1.0
    group: ProcessGroup = SINGLE_PROCESS


class Draw(NamedTuple):
    """The targets of a step, the seed of their evidence, and what is hidden from it."""

    users: Ints
    items: Ints
    ratings: Floats
    seed: int
    hidden: Hidden


def draw_step(pool: Pool, settings: TrainingSettings, step: int) -> Draw:
    """The targets of a step: a function of the seed and the step's number."""
    count = len(pool.graph)
    size = max(1, min(settings.batch_size, int(count * settings.batch_share)))
    for turn in itertools.count():
        positions = batch_positions(
            count, size, settings.seed + turn, step, settings.ratings_per_user
        )
        users, items, ratings = _targets(pool, positions)
        if len(users):  # else all ratings of a small batch are held out
            break
    draw = evidence_seed(settings.seed, step)
    targets = (users, items) if settings.hide_targets else (users[:0], items[:0])
    share = settings.evidence_dropout * draw / _LARGEST_SEED
    entity_sample = draw_entity_sample(pool, settings.entity_sample, draw)
    hidden = hide(
        *targets,
        dropout=share,
        seed=draw,
        entity_sample=entity_sample,
        cold_start_share=settings.cold_start_share,
    )
    if settings.unknown_share:
        lot = np.random.default_rng(draw).random(len(users)) * 2
        users = np.where(lot < settings.unknown_share, UNKNOWN, users)
        items = np.where(lot > 2 - settings.unknown_share, UNKNOWN, items)
    return Draw(users, items, ratings, draw if settings.redraw_evidence else STABLE, hidden)


def make_batch(
    pool: Pool,
    policy: Policy,
    settings: TrainingSettings,
    step: int,
    group: ProcessGroup = SINGLE_PROCESS,
) -> Batch:
    """This process's share of the batch of a step."""
    users, items, ratings, seed, hidden = draw_step(pool, settings, step)
    part = group.share(len(users))
    own = ratings[part]
    if group.size == 1 or policy.cycle_blocking or len(users) < group.size:
        plan = make_plan(pool, policy, users[part], items[part], seed=seed, hidden=hidden)
    else:
        # All shares of the targets need nearly the same embeddings, so they are generated once.
        member = group.rank, group.size
        plan = make_plan(pool, policy, users, items, seed=seed, hidden=hidden, share=member)
        plan = replace(plan, rows=(plan.rows[0][part], plan.rows[1][part]))
    return Batch(plan, torch.from_numpy(own), len(own) / len(ratings), group)


def _targets(pool: Pool, positions: Longs) -> RatedPairs:
    """The ratings at these positions, without those that are held out."""
    users, items, ratings = pool.graph.pairs(positions)
    if not pool.holdout.share:
        return users, items, ratings
    kept = ~are_held_out(pool.holdout, users, items)
    return users[kept], items[kept], ratings[kept]


def evidence_seed(seed: int, step: int) -> int:
    """A seed for the evidence of a step, never STABLE."""
    digest = blake2b(f"{seed}/{step}".encode(), digest_size=8).digest()
    return 1 + int.from_bytes(digest, "little") % _LARGEST_SEED


def loss_of(chain: Chain, batch: Batch, regularization: float) -> tuple[Tensor, Tensor]:
    """The loss of a batch, and the mean squared error in it, both times the batch's weight.

    The paper's loss, its sum over ratings taken as a mean so that lambda means the same
    whatever the batch size: `mean (R - UV)^2 + lambda (|u|^2 + |v|^2 + |phi|^2 + |psi|^2)`.
    The head says what squared errors cost.
    """
    if not batch.weight:
        return torch.zeros(()), torch.zeros(())
    sides = chain.request_rows(batch.plan, batch.group.exchange)
    loss, squares = loss_between(chain, sides, batch.ratings, regularization)
    return batch.weight * loss, batch.weight * squares.mean()


def loss_between(
    chain: Chain,
    sides: tuple[RequestRows, RequestRows, Tensor],
    ratings: Tensor,
    regularization: float,
) -> tuple[Tensor, Tensor]:
    """The loss of the requests that `Chain.request_rows` gave, and their squared errors."""
    users, items, possible = sides
    squares = (chain.estimate(users, items, possible) - ratings.to(possible.device)).square()
    loss = chain.loss(squares, users, items)
    if regularization:
        penalty = torch.stack([p.square().sum() for p in chain.parameters()]).sum()
        loss = loss + regularization * penalty
    return loss, squares.detach()


def learning_rate(settings: TrainingSettings, step: int) -> float:
    """The step size of a step."""
    size = settings.learning_rate * min(1.0, (step + 1) / (settings.warmup + 1))
    if settings.annealing:
        size *= (1 + math.cos(math.pi * step / settings.iterations)) / 2
    return size


def _run_folder(run: Path) -> Path:
    right = "Name a free folder, or one that holds a run."
    with reported_as(SettingsError, "cannot create the run folder", run, right):
        run.mkdir(parents=True, exist_ok=True)
    return run


@dataclass
class Trainer:
    """Trains a chain in place.

    Args:
        validation: ratings that are not in the evidence, for validation and early stopping.
        watch: called with the step and its figures after each step.
        group: the processes that train together; the first of them writes the run's files.
        device: where steps are computed; all else runs on the CPU.
    """

    chain: Chain
    pool: Pool
    policy: Policy
    settings: TrainingSettings
    validation: RatedPairs | None = None
    watch: Watch | None = None
    group: ProcessGroup = field(default_factory=ProcessGroup.here)
    device: torch.device = CPU

    def __post_init__(self) -> None:
        self.chain.to(self.device)
        # Elsewhere, a fused Adam would keep its step count on the device, unlike checkpoints.
        fused = True if self.device == CPU else None
        self.optimizer = torch.optim.Adam(
            self.chain.parameters(), lr=self.settings.learning_rate, fused=fused
        )
        self.progress = Progress()
        self.average = deepcopy(self.chain) if self.settings.averaging else None
        self.best: Weights | None = None

    @property
    def result(self) -> Chain:
        """The chain that training would return if it stopped now."""
        found = self.chain if self.average is None else self.average
        return found if self.device == CPU else deepcopy(found).to(CPU)

    def train(
        self, run: Path | None = None, *, resume: bool = False, tensorboard: bool = False
    ) -> Progress:
        """Train to the end, from the run folder's checkpoint when resuming."""
        keep_freed_memory()
        with ExitStack() as stack:
            checkpoint = _run_folder(run) / "checkpoint.safetensors" if run else None
            if resume and checkpoint and checkpoint.exists():
                self.progress, self.best = load_checkpoint(
                    checkpoint, self.chain, self.average, self.optimizer, self._identity
                )
            else:
                pretrain(self.chain, self.pool, self.settings)
                if self.settings.centring:
                    self.chain.centre()
                if self.average is not None:
                    self.average.load_state_dict(self.chain.state_dict())
                if checkpoint and self.group.is_first:
                    checkpoint.unlink(missing_ok=True)
            log = None
            if run and self.group.is_first:
                log = stack.enter_context(RunLog(run, self.progress.step, tensorboard=tensorboard))
            if not self.progress.finished:
                self._steps(log, checkpoint if self.group.is_first else None)
        self.chain.to(CPU).load_state_dict(self.best or self.result.state_dict())
        if self.group.is_first:
            self._calibrate()
        self.group.broadcast(self.chain.state_dict().values())
        return self.progress

    def validation_rmse(self) -> float:
        """The error on the validation ratings, with the evidence used for serving."""
        assert self.validation is not None
        users, items, ratings = self.validation
        part = self.group.share(len(ratings))
        found, _, _ = estimates(self.result, self.pool, self.policy, (users[part], items[part]))
        errors = found - ratings[part]
        squares, count = self.group.total([float(np.sum(errors**2)), len(errors)])
        return math.sqrt(squares / count)

    def _steps(self, log: RunLog | None, checkpoint: Path | None) -> None:
        progress, settings = self.progress, self.settings
        begun = time.monotonic() - progress.seconds
        steps = range(progress.step, settings.iterations)
        for batch in prefetched(self._batch, steps):
            values = {"train_rmse": self._step(batch)}
            progress.step += 1
            last = progress.step == settings.iterations
            if self.validation is not None and (
                last or progress.step % settings.validate_every == 0
            ):
                values["validation_rmse"] = self._validate()
            progress.seconds = time.monotonic() - begun
            progress.finished = last or self._out_of_patience()
            if log:
                log.write(progress.step, **values, seconds=round(progress.seconds, 3))
            if self.watch:
                self.watch(progress.step, values)
            if checkpoint and (progress.finished or progress.step % settings.checkpoint_every == 0):
                save_checkpoint(
                    checkpoint,
                    self.chain,
                    self.average,
                    self.optimizer,
                    self.best,
                    progress,
                    self._identity,
                )
            if progress.finished:
                break

    def _batch(self, step: int) -> Batch:
        return make_batch(self.pool, self.policy, self.settings, step, self.group)

    def _step(self, batch: Batch) -> float:
        for options in self.optimizer.param_groups:
            options["lr"] = learning_rate(self.settings, self.progress.step)
        self.optimizer.zero_grad()
        loss, error = loss_of(self.chain, batch, self.settings.regularization)
        if batch.weight:
            loss.backward()  # type: ignore[no-untyped-call]
        self.group.add_gradients(self.chain.parameters())
        (squared,) = self.group.total([float(error)])
        if self.settings.gradient_limit:
            # The gradient of log_std must not scale down the gradient of the estimates.
            std_parameters = set(self.chain.head.log_stds.parameters())
            limited = [p for p in self.chain.parameters() if p not in std_parameters]
            clip_grad_norm_(limited, self.settings.gradient_limit)
        self.optimizer.step()
        self._take_into_average()
        if not math.isfinite(squared):
            raise SettingsError(
                f"training diverged at step {self.progress.step + 1}",
                where="learning_rate",
                right=f"Try one below {self.settings.learning_rate}.",
            )
        return math.sqrt(squared)

    @torch.no_grad()
    def _take_into_average(self) -> None:
        if self.average is None:
            return
        share = decay_at(self.settings.averaging, self.progress.step)
        for old, new in zip(self.average.parameters(), self.chain.parameters(), strict=True):
            old.lerp_(new, 1 - share)

    def _calibrate(self) -> None:
        if self.validation is not None:
            users, items, ratings = self.validation
            calibrate(self.chain, self.pool, self.policy, (users, items), ratings)

    def _validate(self) -> float:
        rmse = self.progress.last_rmse = self.validation_rmse()
        if self.progress.best_rmse is None or rmse < self.progress.best_rmse:
            self.progress.best_rmse, self.progress.best_step = rmse, self.progress.step
            if self.settings.patience:
                self.best = copy_weights(self.result)
        return rmse

    def _out_of_patience(self) -> bool:
        waited = self.progress.step - self.progress.best_step
        patience = self.settings.patience * self.settings.validate_every
        return self.validation is not None and bool(patience) and waited >= patience

    @property
    def _identity(self) -> str:
        """A digest of all that must be equal for a checkpoint to belong to this run."""
        digest = blake2b(digest_size=16)
        digest.update(self.policy.model_dump_json().encode())
        digest.update(self.chain.settings.model_dump_json().encode())
        digest.update(self.settings.model_dump_json().encode())
        digest.update(",".join(str(tuple(p.shape)) for p in self.chain.parameters()).encode())
        digest.update(self.pool.graph.fingerprint.encode())
        for part in self.validation or ():
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()
