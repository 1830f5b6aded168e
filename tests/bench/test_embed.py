import gc
import weakref
from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.bench.counted import Products
from tests.bench.small import NAMES, SMALL, small

from evichain.bench import bench_embed, embed
from evichain.model.layers import Layer, all_layers
from evichain.recipes import settings_for
from evichain.testing import planted_blocks


@pytest.mark.parametrize("recipe", NAMES)
def test_the_products_told_of_are_those_that_are_made(recipe: str) -> None:
    chain, pool, settings = small(recipe)
    with Products() as done:
        made = all_layers(chain, pool, settings.policy)
    told = Counter(embed._products(chain, pool, settings.policy, made))
    by_kernel = told - Counter(done.shapes)
    assert done.shapes
    assert told == Counter(done.shapes) + by_kernel
    # Those of regressions, of which every layer that is generated has one.
    count = 2 * settings.policy.max_depth if recipe == "plus" else 0
    assert by_kernel.total() == count
    assert all(shape[1:] == (settings.chain.key_size,) * 2 for shape in by_kernel)


def test_embeddings_are_in_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before: list[weakref.ref[Layer]] = []

    def watched(*arguments: Any) -> embed.Layers:
        gc.collect()
        assert not any(layer() for layer in before)
        made = all_layers(*arguments)
        before.extend(map(weakref.ref, made.values()))
        return made

    monkeypatch.setattr(embed, "all_layers", watched)
    found = bench_embed(planted_blocks(), settings_for("paper", **SMALL), repeats=2)
    assert len(before) == 3 * 2 * 3
    chain, pool, settings = small("paper")
    made = all_layers(chain, pool, settings.policy)
    has_embedding = [
        int(np.sum(one.has_embedding)) for (depth, _), one in made.items() if depth < 2
    ]
    assert found["embeddings"] == sum(has_embedding)
