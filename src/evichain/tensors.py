"""Tensors as arrays, and as safetensors files with the usual file permissions."""

from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save
from torch import Tensor

from evichain.kernels import Floats


def array_of(tensor: Tensor) -> Floats:
    """The numbers of a tensor, row after row, without its gradient."""
    array: Floats = tensor.detach().contiguous().numpy()
    return array


def write_tensors(
    tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write tensors by name; the file has the mode that the umask gives."""
    # Not `save_file`: only the owner could read its files.
    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    path.write_bytes(save(whole, metadata))
