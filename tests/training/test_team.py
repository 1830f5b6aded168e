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
from evichain.training.team import ALONE, RENDEZVOUS, Team
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
from evichain.training.team import team_of_environment

with team_of_environment() as team:
    parameter = torch.nn.Parameter(torch.full((3,), team.rank + 1.0))
    optimizer = torch.optim.Adam([parameter])
    parameter.square().sum().backward()
    team.add_gradients([parameter])
    optimizer.step()
    print(*parameter.grad.tolist(), *team.total([team.rank]))
tasks = os.listdir("/proc/self/task")
print(*(open(f"/proc/self/task/{task}/comm").read().strip() for task in tasks))
"""


def gradient(chain: Chain, pool: Pool, settings: Settings, teams: list[Team]) -> torch.Tensor:
    """The sum of the gradients of all shares, and of their errors at the end."""
    chain.zero_grad()
    errors = torch.zeros(())
    for team in teams:
        batch = make_batch(pool, settings.policy, settings.training, 5, team)
        loss, error = loss_of(chain, batch, settings.regularization)
        if batch.weight:
            loss.backward()  # type: ignore[no-untyped-call]
        errors = errors + error
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in chain.parameters()]
    return torch.cat([grad.flatten() for grad in grads] + [errors.unsqueeze(0)])


def test_shares_cover_everything_once() -> None:
    for count in (0, 1, 2, 7, 100):
        for size in (1, 2, 3, 8):
            parts = [np.arange(count)[Team(rank, size).share(count)] for rank in range(size)]
            assert np.concatenate(parts).tolist() == list(range(count))


def test_gradients_of_shares_add_up_to_that_of_the_batch() -> None:
    graph = Graph.build(planted_blocks())
    for recipe in ("plus", "paper"):
        changes = {n: v for n, v in SMALL.items() if recipe == "plus" or n not in ("key_size",)}
        settings = settings_for(recipe, **changes)
        pool = Pool.most_rated(graph, (6, 6))
        torch.manual_seed(0)
        chain = Chain.for_pool(settings.chain, pool, settings.max_depth)
        whole = gradient(chain, pool, settings, [ALONE])
        for size in (2, 3, 200):
            teams = [Team(rank, size) for rank in range(size)]
            shared = gradient(chain, pool, settings, teams)
            assert torch.allclose(shared, whole, rtol=1e-4, atol=1e-6)


def test_alone_nothing_is_exchanged() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    assert Team.here() == ALONE
    assert ALONE.leads
    assert ALONE.total([1.5, 2.0]) == [1.5, 2.0]
    ALONE.add_gradients([parameter])
    assert parameter.grad is None


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds threads in /proc")
def test_a_team_leaves_no_thread_behind(tmp_path: Path) -> None:
    meeting = (tmp_path / "meeting").as_uri()
    members = [
        subprocess.Popen(
            [sys.executable, "-c", MEMBER],
            env={**os.environ, "WORLD_SIZE": "2", "RANK": str(rank), RENDEZVOUS: meeting},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        for member in members:
            out, _ = member.communicate()
            assert member.returncode == 0
            figures, threads = out.splitlines()
            assert figures == "6.0 6.0 6.0 1.0"
            assert "gloo" not in threads
    finally:
        for member in members:
            member.kill()
            member.wait()
