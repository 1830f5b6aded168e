"""Tensors come back from their file, and others than its owner can read it."""

import os
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from evichain.tensors import write_tensors


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_a_file_that_the_umask_allows(tmp_path: Path, umask: int, mode: int) -> None:
    path, table = tmp_path / "a.safetensors", torch.arange(6.0).reshape(2, 3)
    before = os.umask(umask)
    try:
        write_tensors({"a": table, "turned": table.T}, path, {"step": "3"})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode
    with safe_open(path, framework="pt") as file:
        assert torch.equal(file.get_tensor("a"), table)
        assert torch.equal(file.get_tensor("turned"), table.T)
        assert file.metadata() == {"step": "3"}
