"""Shares of a batch, as processes have them, add up to what one process does."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.ratings.graph import Graph
from evichain.recipes import Settings, settings_for
from evichain.testing import planted_blocks
from evichain.training.distributed import SINGLE_PROCESS, ProcessGroup
from evichain.training.rendezvous import RENDEZVOUS
from evichain.training.trainer import loss_of, make_batch

SMALL: dict[str, Any] = {
    "batch_size": 101,
    "embedding_size": 4,
    "key_size": 4,
    "channel_size": 4,
    "width": 8,
    "evidence_limit": 8,
    "prototype_users": 6,
    "prototype_items": 6,
    "regularization": 0.01,
}

MEMBER = """
import os
import torch
from evichain.training.distributed import process_group_from_environment

with process_group_from_environment() as group:
    parameter = torch.nn.Parameter(torch.full((3,), group.rank + 1.0))
    optimizer = torch.optim.Adam([parameter])
    parameter.square().sum().backward()
    group.add_gradients([parameter])
    optimizer.step()
    print(*parameter.grad.tolist(), *group.total([group.rank]))
tasks = os.listdir("/proc/self/task")
print(*(open(f"/proc/self/task/{task}/comm").read().strip() for task in tasks))
"""
SHARING = """
import sys
sys.path.insert(0, {tests!r})
from tests.training.test_distributed import assert_shares_add_up
from evichain.training.distributed import process_group_from_environment

with process_group_from_environment() as group:
    assert group.size == {size}
    assert_shares_add_up(group)
"""


def run_members(program: str, size: int, folder: Path) -> list[str]:
    """What the processes of a group print."""
    rendezvous_url = (folder / "rendezvous_url").as_uri()
    members = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                "WORLD_SIZE": str(size),
                "RANK": str(rank),
                RENDEZVOUS: rendezvous_url,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        said = [member.communicate() for member in members]
        assert not any(member.returncode for member in members), said
        return [out for out, _ in said]
    finally:
        for member in members:
            member.kill()
            member.wait()


def gradient(chain: Chain, pool: Pool, settings: Settings, group: ProcessGroup) -> torch.Tensor:
    """The gradient of a step, and its error at the end."""
    chain.zero_grad()
    batch = make_batch(pool, settings.policy, settings.training, 5, group)
    loss, error = loss_of(chain, batch, settings.training.regularization)
    if batch.weight:
        loss.backward()  # type: ignore[no-untyped-call]
    group.add_gradients(chain.parameters())
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in chain.parameters()]
    return torch.cat(
        [*(grad.flatten() for grad in grads), torch.tensor(group.total([float(error)]))]
    )


def assert_shares_add_up(group: ProcessGroup) -> None:
    """With every recipe, and with fewer targets than processes."""
    pool = Pool.most_rated(Graph.build(planted_blocks()), (6, 6))
    for recipe, changes in (
        ("plus", {}),
        ("plus", {"batch_size": 1}),
        ("paper", {"cycle_blocking": False}),
        ("paper", {"cycle_blocking": True}),
    ):
        settings = settings_for(recipe, **{**SMALL, **changes})
        torch.manual_seed(0)
        chain = Chain.for_pool(settings.chain, pool, settings.policy.max_depth)
        whole, shared = (gradient(chain, pool, settings, each) for each in (SINGLE_PROCESS, group))
        torch.testing.assert_close(shared, whole, rtol=1e-4, atol=1e-6)


def test_shares_cover_everything_once() -> None:
    for count in (0, 1, 2, 7, 100):
        for size in (1, 2, 3, 8):
            parts = [
                np.arange(count)[ProcessGroup(rank, size).share(count)] for rank in range(size)
            ]
            assert np.concatenate(parts).tolist() == list(range(count))


@pytest.mark.parametrize("size", [2, 3])
def test_gradients_of_shares_add_up_to_that_of_the_batch(size: int, tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[2])
    run_members(SHARING.format(tests=tests, size=size), size, tmp_path)


def test_alone_nothing_is_exchanged() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    assert ProcessGroup.here() == SINGLE_PROCESS
    assert SINGLE_PROCESS.is_first
    assert SINGLE_PROCESS.total([1.5, 2.0]) == [1.5, 2.0]
    SINGLE_PROCESS.add_gradients([parameter])
    assert parameter.grad is None


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds threads in /proc")
def test_a_team_leaves_no_thread_behind(tmp_path: Path) -> None:
    for out in run_members(MEMBER, 2, tmp_path):
        figures, threads = out.splitlines()
        assert figures == "6.0 6.0 6.0 1.0"
        assert "gloo" not in threads
