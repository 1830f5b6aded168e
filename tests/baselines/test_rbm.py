"""The Boltzmann machine: its conditionals against the energy, all states counted."""

import itertools

import numpy as np
import torch

from evichain.baselines._case_nets import CasePairs
from evichain.baselines.rbm import RBMNet, divergence

UNITS, LEVELS, HIDDEN = 3, 2, 2


def net() -> RBMNet:
    torch.manual_seed(0)
    made = RBMNet(np.full((UNITS, LEVELS), 0.5, np.float32), HIDDEN)
    for part in made.parameters():
        torch.nn.init.normal_(part)
    return made.requires_grad_(False)


def energy(made: RBMNet, levels: tuple[int, ...], hidden: tuple[int, ...]) -> float:
    """`-Σ W v h - Σ b v - Σ b h` of a machine that sees all units."""
    total = sum(float(made.hidden_bias[j]) * on for j, on in enumerate(hidden))
    for unit, level in enumerate(levels):
        total += float(made.bias[unit, level])
        total += sum(float(made.outward[unit, level, j]) * on for j, on in enumerate(hidden))
    return -total


def all_units(levels: tuple[int, ...]) -> CasePairs:
    units = np.arange(UNITS, dtype=np.int32)
    return CasePairs(np.zeros_like(units), units, np.array(levels, np.int64))


def test_conditionals_are_those_of_the_energy() -> None:
    made = net()
    visible = list(itertools.product(range(LEVELS), repeat=UNITS))
    hidden = list(itertools.product(range(2), repeat=HIDDEN))
    weight = {(v, h): np.exp(-energy(made, v, h)) for v in visible for h in hidden}
    for levels in visible:
        total = sum(weight[levels, h] for h in hidden)
        wanted = [sum(weight[levels, h] for h in hidden if h[j]) / total for j in range(HIDDEN)]
        assert np.allclose(made.hidden(all_units(levels), 1)[0], wanted, atol=1e-5)
    _, pairs = made.seen(all_units((0, 0, 0)), 1)
    for on in hidden:
        total = sum(weight[v, on] for v in visible)
        found = made.visible_given_hidden(torch.tensor([on], dtype=torch.float32), pairs)
        for unit, level in itertools.product(range(UNITS), range(LEVELS)):
            wanted = sum(weight[v, on] for v in visible if v[unit] == level) / total
            assert np.isclose(found[unit, level], wanted, atol=1e-5)


def test_divergence_is_the_difference_of_what_is_on_together() -> None:
    """Over many draws, against the exact expectation of one step of the chain."""
    made, levels = net(), (1, 0, 1)
    on, pairs = made.seen(all_units(levels), 1)
    first = made.hidden_given_visible(on, pairs)
    visible = list(itertools.product(range(LEVELS), repeat=UNITS))
    wanted = torch.zeros(UNITS, LEVELS, HIDDEN)
    for state in itertools.product(range(2), repeat=HIDDEN):
        drawn = torch.tensor([state], dtype=torch.float32)
        chance = float((first * drawn + (1 - first) * (1 - drawn)).prod())
        each = made.visible_given_hidden(drawn, pairs)
        for again in visible:
            likely = chance * float(np.prod([each[u, again[u]] for u in range(UNITS)]))
            after = made.hidden(all_units(again), 1)[0]
            for unit, level in enumerate(again):
                wanted[unit, level] -= likely * after
    for unit, level in enumerate(levels):
        wanted[unit, level] += first[0]
    torch.manual_seed(0)
    rises = [divergence(made, on, pairs, 1) for _ in range(3000)]
    mean = torch.stack([rise[0] for rise in rises]).mean(0)
    assert torch.allclose(mean, wanted, atol=0.04)
    # What the biases lose and gain at a unit is one level for another.
    assert all(torch.allclose(rise[1].sum(dim=1), torch.zeros(UNITS)) for rise in rises)
