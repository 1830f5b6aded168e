"""Tensors as files: safetensors, readable by whoever may read what else is written here."""

from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save
from torch import Tensor


def write_tensors(
    tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write tensors by name; the file has the mode that the umask gives."""
    # Not `save_file`, whose files nobody but their owner can read.
    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    path.write_bytes(save(whole, metadata))
