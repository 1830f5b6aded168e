"""One row in NumPy is the row that PyTorch makes."""

from itertools import product

import numpy as np
import pytest
import torch

from evichain.model.chain import Chain
from evichain.model.inference import read
from evichain.model.settings import ChainSettings
from evichain.model.single import SingleUser
from evichain.ratings.side import Side

PARTS = [p for p in product([False, True], repeat=3) if any(p)]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("count", [1, 2, 7, 60])
def test_a_single_row_is_that_of_the_generator(parts: tuple[bool, ...], count: int) -> None:
    torch.manual_seed(count)
    names = ("ridge_channel", "residual_channel", "presence_channel")
    shape = ChainSettings.model_validate(
        {"generator": "channels", "embedding_size": 5, "width": 7, "shared_generators": False}
        | dict(zip(names, parts, strict=True))
    )
    chain = Chain(shape, (3, 3), 3.4, deviation=1.1, depths=2)
    with torch.no_grad():
        for parameter in chain.head.doubts.parameters():
            parameter.normal_()
    evidence, ratings = torch.randn(count, 8), torch.randint(1, 6, (count,)).float()
    single = SingleUser.of(chain)
    assert single is not None
    with torch.no_grad():
        expected = chain.generator(Side.USER, 0)(evidence, ratings).numpy()
    found = single.row(evidence.numpy(), ratings.numpy())
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)
    told, end = read(chain, Side.USER, expected[None], np.ones(1, np.bool_)), single.end(expected)
    for name in ("vectors", "embeddings", "doubts", "there", "told"):
        np.testing.assert_allclose(getattr(end, name), getattr(told, name), atol=1e-5)


def test_means_are_left_to_the_generator() -> None:
    assert SingleUser.of(Chain(ChainSettings(embedding_size=3), (2, 2), 3.0)) is None
