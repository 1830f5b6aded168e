"""Checkpoints: all that a run needs to continue exactly as if it had not been interrupted.

One safetensors file, replaced atomically, so that a run killed at any moment has a complete
one. Batches and evidence are functions of (seed, step), so weights, the optimizer's
moments and a few numbers are everything.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from evichain.errors import ModelError
from evichain.model.chain import Chain
from evichain.tensors import write_tensors

Weights = dict[str, Tensor]


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        last_rmse: the error of the last validation.
    """

    step: int = 0
    best_rmse: float | None = None
    best_step: int = 0
    seconds: float = 0.0
    finished: bool = False
    last_rmse: float | None = None


def copy_weights(chain: Chain) -> Weights:
    """A copy of the weights."""
    return {name: value.detach().clone() for name, value in chain.state_dict().items()}


def save_checkpoint(
    path: Path,
    chain: Chain,
    average: Chain | None,
    optimizer: torch.optim.Adam,
    best: Weights | None,
    progress: Progress,
    identity: str,
) -> None:
    """Replace the checkpoint at `path`; `identity` says which run it belongs to."""
    tensors = {f"chain.{name}": value for name, value in chain.state_dict().items()}
    for name, value in (average.state_dict() if average else {}).items():
        tensors[f"average.{name}"] = value
    for name, value in (best or {}).items():
        tensors[f"best.{name}"] = value
    for name, parameter in chain.named_parameters():
        for part, value in optimizer.state[parameter].items():
            tensors[f"adam.{part}.{name}"] = value
    beside = path.with_suffix(".partial")
    meta = {"progress": json.dumps(asdict(progress)), "identity": identity}
    try:
        write_tensors(tensors, beside, meta)
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"the checkpoint cannot be written ({error})",
            where=str(path),
            right="Make room, then resume the run.",
        ) from error


def load_checkpoint(
    path: Path, chain: Chain, average: Chain | None, optimizer: torch.optim.Adam, identity: str
) -> tuple[Progress, Weights | None]:
    """Restore chains and optimizer; returns the progress and the best weights so far."""
    try:
        with safe_open(path, framework="pt") as file:
            meta = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"no readable checkpoint ({error})",
            where=str(path),
            right="Start the run again without --resume.",
        ) from error
    if meta.get("identity") != identity:
        raise ModelError(
            "the checkpoint belongs to a run with other settings, other ratings or another version",
            where=str(path),
            right="Resume with the same settings and data, or choose another run folder.",
        )
    chain.load_state_dict(_under(tensors, "chain."))
    if average:
        average.load_state_dict(_under(tensors, "average."))
    for name, parameter in chain.named_parameters():
        state = optimizer.state[parameter]
        for part in ("step", "exp_avg", "exp_avg_sq"):
            value = tensors.get(f"adam.{part}.{name}")
            if value is not None:
                # Adam counts its steps on the processor.
                state[part] = value.clone() if part == "step" else value.to(parameter.device)
    return Progress(**json.loads(meta["progress"])), _under(tensors, "best.") or None


def _under(tensors: Weights, prefix: str) -> Weights:
    return {
        name.removeprefix(prefix): value.clone()
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
