"""CF-NADE: conditionals, costs and orders, against loops that follow the paper."""

import math

import numpy as np
import torch
from tests.baselines.small import small

from evichain.baselines._case_nets import CasePairs
from evichain.baselines.cf_nade import CFNADE, CFNADENet, CFNADESettings, costs, split_in_order
from evichain.ratings.table import Ratings
from evichain.testing import planted_blocks

UNITS, LEVELS, HIDDEN = 4, 3, 5


def net(layers: int = 1) -> CFNADENet:
    torch.manual_seed(0)
    frequencies = np.random.default_rng(0).dirichlet(np.ones(LEVELS), UNITS).astype(np.float32)
    made = CFNADENet(frequencies, CFNADESettings(hidden_units=HIDDEN, hidden_layers=layers))
    torch.nn.init.normal_(made.hidden_bias)
    return made.requires_grad_(False)


def scores_by_loops(made: CFNADENet, seen: dict[int, int], unit: int) -> list[float]:
    """`s^k` of a unit after units were seen at levels, sum by sum."""
    total = made.hidden_bias.tolist()
    for other, level in seen.items():
        for k in range(level + 1):
            for h in range(HIDDEN):
                total[h] += float(made.inward[other, k, h])
    hidden = torch.tensor([math.tanh(value) for value in total])
    for layer in made.deeper:
        hidden = torch.tanh(layer(hidden))
    found = []
    for k in range(LEVELS):
        score = 0.0
        for j in range(k + 1):
            score += float(made.bias[unit, j])
            score += sum(float(made.outward[unit, j, h] * hidden[h]) for h in range(HIDDEN))
        found.append(score)
    return found


def as_pairs(*cases: dict[int, int]) -> CasePairs:
    listed = [(c, unit, level) for c, one in enumerate(cases) for unit, level in one.items()]
    columns = np.array(listed, np.int64).reshape(-1, 3).T
    return CasePairs(columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2])


def test_conditionals_are_those_of_the_paper() -> None:
    for layers in (1, 2):
        made = net(layers)
        known: list[dict[int, int]] = [{0: 2, 2: 0}, {}, {1: 1}]
        asked = [{1: 0, 3: 2}, {0: 1}, {0: 0, 2: 2, 3: 1}]
        hidden = made.hidden(as_pairs(*known), len(known))
        found, order = made(hidden, as_pairs(*asked))
        pairs = as_pairs(*asked)
        for row, position in enumerate(order):
            case, unit = pairs.cases[position], int(pairs.units[position])
            wanted = scores_by_loops(made, known[case], unit)
            assert np.allclose(found[row], wanted, atol=1e-5)


def test_costs_are_those_of_the_paper() -> None:
    scores = torch.randn(4, LEVELS, dtype=torch.float64, generator=torch.manual_seed(0))
    codes = torch.tensor([0, 1, 2, 1])
    for row, (one, k) in enumerate(zip(scores.exp().tolist(), codes.tolist(), strict=True)):
        regular = -math.log(one[k] / sum(one))
        ordinal = -sum(math.log(one[j] / sum(one[: j + 1])) for j in range(k, -1, -1))
        ordinal -= sum(math.log(one[j] / sum(one[j:])) for j in range(k, LEVELS))
        for share in (0.0, 0.3, 1.0):
            found = float(costs(scores, codes, share)[row])
            assert math.isclose(found, (1 - share) * regular + share * ordinal, rel_tol=1e-6)


def test_an_untrained_net_tells_how_often_levels_were_given() -> None:
    frequencies = np.array([[0.2, 0.3, 0.5]], np.float32)
    made = CFNADENet(frequencies, CFNADESettings(hidden_units=HIDDEN))
    with torch.no_grad():
        made.outward.zero_()
        hidden = made.hidden(as_pairs({}), 1)
        found = made(hidden, as_pairs({0: 0}))[0].softmax(1)
    assert np.allclose(found, frequencies, atol=1e-6)


def test_every_place_in_every_order_is_drawn_alike() -> None:
    cases = np.repeat(np.arange(3, dtype=np.int32), [1, 2, 4])
    draws = np.random.default_rng(0)
    befores = np.zeros(len(cases))
    rounds = 4000
    for _ in range(rounds):
        before, weights = split_in_order(cases, draws)
        befores += before
        left = np.bincount(cases[~before], minlength=3)
        assert (left >= 1).all()
        assert np.allclose(weights * left, [1, 2, 4])
    # Of D ratings 0 to D - 1 come before, each as often, and each rating is as likely as another.
    assert np.allclose(befores / rounds, np.repeat([0, 1 / 4, 3 / 8], [1, 2, 4]), atol=0.04)


def test_biases_do_not_decay() -> None:
    made = net(layers=2)
    decaying, kept = made.groups(0.5)
    assert decaying["weight_decay"] == 1.0
    assert kept["weight_decay"] == 0.0
    assert {id(part) for part in kept["params"]} == {
        id(made.bias),
        id(made.hidden_bias),
        id(made.deeper[0].bias),
    }
    assert len(decaying["params"]) + len(kept["params"]) == len(list(made.parameters()))


def test_cases_may_be_users_too() -> None:
    ratings = planted_blocks()
    flipped = Ratings.from_arrays(*(ratings.frame[c] for c in ("item_id", "user_id", "rating")))
    by_user = small("cf-nade", cases="user", validation=0)().fit(ratings)
    by_item = small("cf-nade", cases="item", validation=0)().fit(flipped)
    assert isinstance(by_user, CFNADE)
    assert by_user.parameter_count == by_item.parameter_count
    assert by_user.predict(0, 2).estimate > 4 > 2 > by_user.predict(0, 3).estimate
