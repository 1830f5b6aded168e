"""The generator by channels, on cases whose answers are known."""

import numpy as np
import pytest
import torch

from evichain.model.channels import ChannelGenerator
from evichain.model.settings import ChainSettings

SHAPE = ChainSettings(generator="channels", embedding_size=3, key_size=2, channel_size=2, width=5)


def a_generator(mean: float = 3.0, std: float = 1.0) -> ChannelGenerator:
    torch.manual_seed(0)
    return ChannelGenerator(SHAPE, mean, std)


def test_a_baseline_is_a_mean_shrunken_toward_the_usual() -> None:
    generator = a_generator()
    strength = float(generator.log_shrinkage[0].exp().detach())
    evidence = torch.zeros(4, 6)
    evidence[:, -1] = torch.tensor([0.5, 0.0, -0.5, 0.0])
    ratings = torch.tensor([5.0, 4.0, 4.0, 5.0])
    found = float(generator(evidence, ratings)[-1].detach())
    assert found == pytest.approx((1.5 + 1 + 1.5 + 2) / (4 + strength))


def test_no_evidence_gives_the_prior_and_little_is_near_it() -> None:
    generator = a_generator()
    torch.manual_seed(1)
    many = torch.randn(300, 6)
    ratings = torch.full((300,), 4.5)
    with torch.no_grad():
        prior = generator(many[:0], ratings[:0])
        assert prior[-1] == 0
        one, all_of_it = generator(many[:1], ratings[:1]), generator(many, ratings)
    assert (one - prior).norm() < (all_of_it - prior).norm()


@pytest.mark.parametrize("scale", [0.01, 20.0])
def test_another_scale_of_ratings_changes_nothing_but_the_units(scale: float) -> None:
    torch.manual_seed(1)
    evidence, ratings = torch.randn(9, 6), torch.rand(9) * 4 + 1
    with torch.no_grad():
        first = a_generator(3.0, 1.1)(evidence, ratings)
        second = a_generator(3.0 * scale - 7, 1.1 * scale)(evidence, ratings * scale - 7)
    torch.testing.assert_close(first, second, atol=1e-4, rtol=1e-4)


def test_the_ridge_channel_finds_the_direction_that_ratings_follow() -> None:
    generator = a_generator()
    noise = np.random.default_rng(0)
    keys = torch.from_numpy(noise.normal(size=(400, 2)).astype(np.float32))
    wanted = torch.tensor([1.5, -0.5])
    with torch.no_grad():
        generator.project.weight.zero_()
        generator.project.bias.zero_()
        generator.project.weight[0, 0] = generator.project.weight[1, 1] = 1.0
        generator.direct.weight.zero_()
        generator.direct.bias.zero_()
        generator.last.weight.zero_()
        generator.direct.weight[0, 0] = generator.direct.weight[1, 1] = 1.0
        rows = torch.cat([keys, torch.zeros(400, 4)], dim=1)
        found = generator(rows, 3.0 + keys @ wanted)
    torch.testing.assert_close(found[:2], wanted, atol=0.05, rtol=0.05)
