"""The sums over pairs of cases and units, against dense ones."""

import numpy as np
import pytest
import torch

from evichain.baselines._units import Seen, dots, dots_in_order, gathered, outer, seen, up_to
from evichain.kernels import Ints, Longs

CASES, UNITS, LEVELS, HIDDEN = 5, 7, 3, 70


@pytest.fixture
def pairs() -> tuple[Seen, Longs, Ints, Ints]:
    draws = np.random.default_rng(0)
    positions = draws.permutation(CASES * UNITS)[:18]
    cases, units = (part.astype(np.int32) for part in np.divmod(positions, UNITS))
    return *seen(cases, units, (CASES, UNITS)), cases, units


def test_pairs_are_sorted_by_unit(pairs: tuple[Seen, Longs, Ints, Ints]) -> None:
    sorted_pairs, order, cases, units = pairs
    assert np.array_equal(sorted_pairs.cases, cases[order])
    assert np.array_equal(sorted_pairs.units, units[order])
    assert (np.diff(sorted_pairs.units) >= 0).all()


def test_sums_and_gradients_are_those_of_dense_products(
    pairs: tuple[Seen, Longs, Ints, Ints],
) -> None:
    one, order, cases, units = pairs
    case, unit = torch.from_numpy(cases[order]).long(), torch.from_numpy(units[order]).long()
    torch.manual_seed(0)
    hidden = torch.randn(CASES, HIDDEN, requires_grad=True)
    weights = torch.randn(UNITS, LEVELS, HIDDEN, requires_grad=True)
    levels = torch.randn(len(case), LEVELS)
    pull = torch.randn(len(case), LEVELS)
    told = torch.randn(CASES, HIDDEN)

    def gradients(loss: torch.Tensor) -> list[torch.Tensor]:
        return list(torch.autograd.grad(loss, (hidden, weights), allow_unused=True))

    dense_dots = torch.einsum("pkh,ph->pk", weights[unit], hidden[case])
    dense_gathered = torch.zeros(CASES, HIDDEN).index_add(
        0, case, torch.einsum("pk,pkh->ph", levels, weights[unit])
    )
    dense_outer = torch.zeros(UNITS, LEVELS, HIDDEN).index_add(
        0, unit, torch.einsum("pk,ph->pkh", levels, hidden[case])
    )
    torch.testing.assert_close(dots(hidden, weights, one), dense_dots)
    torch.testing.assert_close(gathered(levels, weights, one), dense_gathered)
    torch.testing.assert_close(outer(levels, hidden, one), dense_outer.detach())
    mine = gradients((dots(hidden, weights, one) * pull).sum())
    for found, wanted in zip(mine, gradients((dense_dots * pull).sum()), strict=True):
        torch.testing.assert_close(found, wanted)
    found = gradients((gathered(levels, weights, one) * told).sum())[1]
    torch.testing.assert_close(found, gradients((dense_gathered * told).sum())[1])


def test_dots_come_back_in_the_order_asked_for(pairs: tuple[Seen, Longs, Ints, Ints]) -> None:
    one, order, cases, units = pairs
    hidden, weights = torch.randn(CASES, HIDDEN), torch.randn(UNITS, LEVELS, HIDDEN)
    found = dots_in_order(hidden, weights, cases, units)
    assert torch.equal(found[torch.from_numpy(order)], dots(hidden, weights, one))


def test_levels_up_to_one() -> None:
    assert up_to(torch.tensor([0, 2]), 3).tolist() == [[1, 0, 0], [1, 1, 1]]
