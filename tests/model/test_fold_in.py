"""One row in NumPy is the row that PyTorch makes."""

from itertools import product

import numpy as np
import pytest
import torch

from evichain.model.chain import Chain
from evichain.model.choices import ChoiceGenerator
from evichain.model.fold_in import fold_in_of
from evichain.model.inference import read
from evichain.model.settings import ChainSettings
from evichain.ratings.side import Side

PARTS = [p for p in product([False, True], repeat=2) if any(p)]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("count", [1, 2, 7, 60])
def test_a_single_row_is_that_of_the_generator(parts: tuple[bool, ...], count: int) -> None:
    torch.manual_seed(count)
    names = ("ridge_channel", "presence_channel")
    shape = ChainSettings.model_validate(
        {"generator": "channels", "embedding_size": 5, "width": 7, "shared_generators": False}
        | dict(zip(names, parts, strict=True))
    )
    chain = Chain(shape, (3, 3), 3.4, std=1.1, depths=2)
    with torch.no_grad():
        for parameter in chain.head.log_stds.parameters():
            parameter.normal_()
    evidence, ratings = torch.randn(count, 8), torch.randint(1, 6, (count,)).float()
    fold_in = fold_in_of(chain)
    assert fold_in is not None
    with torch.no_grad():
        expected = chain.generator(Side.USER, 0)(evidence, ratings).numpy()
    found = fold_in.row(evidence.numpy(), ratings.numpy())
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)
    answerable, end = (
        read(chain, Side.USER, expected[None], np.ones(1, np.bool_)),
        fold_in.output(expected),
    )
    for name in ("vectors", "embeddings", "log_stds", "has_embedding", "answerable"):
        np.testing.assert_allclose(getattr(end, name), getattr(answerable, name), atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 7, 60])
def test_a_single_row_of_choices_is_that_of_the_generator(count: int) -> None:
    torch.manual_seed(count)
    shape = ChainSettings(generator="choices", key_size=5, shared_generators=False)
    chain = Chain(shape, (0, 3), 3.4, depths=1)
    generator = chain.generator(Side.USER, 0)
    assert isinstance(generator, ChoiceGenerator)
    with torch.no_grad():
        for parameter in generator.parameters():
            parameter.normal_()
        generator.reading.copy_(torch.tensor([3.0, 0.5, 0.0]))
        evidence, ratings = torch.randn(count, 6), torch.randint(1, 6, (count,)).float()
        expected = generator(evidence, ratings).numpy()
    fold_in = fold_in_of(chain)
    assert fold_in is not None
    found = fold_in.row(evidence.numpy(), ratings.numpy())
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-4)
    end = read(chain, Side.USER, expected[None], np.ones(1, np.bool_))
    np.testing.assert_allclose(fold_in.output(found).vectors, end.vectors, atol=1e-5, rtol=1e-4)


def test_means_are_left_to_the_generator() -> None:
    assert fold_in_of(Chain(ChainSettings(embedding_size=3), (2, 2), 3.0)) is None
