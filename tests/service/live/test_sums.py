"""Sums that are kept: the same as those that are added up anew, after any number of changes."""

import numpy as np
import pytest
from tests.service.live.test_engine import SCALE, SHAPES, START, a_chain, a_pool, assert_answers

from evichain.engine import Engine
from evichain.evidence.choice import Evidence
from evichain.model.channels import ChannelGenerator
from evichain.model.layers import Layer, generated
from evichain.ratings.side import Side
from evichain.service.live import layers, sums
from evichain.service.live.engine import Change, LiveEngine
from evichain.service.live.sums import Sums

DRAW = np.random.default_rng(5)


def some_layer(chain_width: int, rows: int) -> Layer:
    made = DRAW.normal(size=(rows, chain_width)).astype(np.float32)
    return Layer(made, np.arange(rows) % 5 != 3)


def test_pieces_can_be_replaced_for_ever() -> None:
    chain = a_chain(SHAPES["plus"])
    generator = chain.generator(Side.ITEM, 0)
    assert isinstance(generator, ChannelGenerator)
    width = chain.prototypes[Side.USER].shape[1]
    below = some_layer(width, 40)
    # The last one has nothing but a piece that is not there.
    lists = [DRAW.choice(40, size, replace=False) for size in (1, 7, 40, 13)] + [np.array([3])]
    ptr = np.cumsum([0, *map(len, lists)])
    others = np.concatenate(lists).astype(np.int32)
    ratings = DRAW.integers(1, 6, len(others)).astype(np.float32)
    evidence, whose = Evidence(ptr, others, ratings), np.repeat(np.arange(5), np.diff(ptr))
    kept = Sums(generator)
    kept.fill(np.arange(5), evidence, below)
    for _ in range(300):
        changed = np.unique(DRAW.integers(0, 40, 4))
        new = Layer(below.rows.copy(), below.there.copy())
        new.rows[changed] = some_layer(width, len(changed)).rows
        new.there[changed] = DRAW.random(len(changed)) < 0.8
        concerned = np.isin(others, changed)
        kept.replace(
            whose[concerned],
            np.searchsorted(changed, others[concerned]),
            ratings[concerned],
            Layer(below.rows[changed], below.there[changed]),
            Layer(new.rows[changed], new.there[changed]),
        )
        below = new
    expected = generated(chain, Side.ITEM, 0, evidence, below)
    found = kept.made(np.arange(5))
    assert found.there.tolist() == expected.there.tolist()
    np.testing.assert_allclose(found.rows, expected.rows, atol=2e-5)


@pytest.mark.parametrize("most", [0, 2, 100])
@pytest.mark.parametrize("dearer", [0, 3])
def test_answers_do_not_depend_on_whose_sums_are_kept(
    most: int, dearer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "_DEARER", dearer)
    monkeypatch.setattr(sums, "MOST", most)
    monkeypatch.setattr(layers, "MOST", most)
    chain, ratings = a_chain(SHAPES["plus"]), dict(START)
    live = LiveEngine(Engine(chain, a_pool(ratings), SHAPES["plus"]), 0, SCALE)
    for version in range(1, 12):
        pair = int(DRAW.integers(0, 9)), int(DRAW.integers(0, 7))
        ratings[pair] = float(DRAW.integers(1, 6))
        live.apply([Change(*pair, ratings[pair])], version)
        assert_answers(live.snapshot, chain, SHAPES["plus"], ratings)


def test_a_fault_on_the_way_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, ratings = a_chain(SHAPES["plus"]), dict(START)
    live = LiveEngine(Engine(chain, a_pool(ratings), SHAPES["plus"]), 0, SCALE)

    def broken(*_: object) -> Layer:
        raise FloatingPointError

    with monkeypatch.context() as patch:
        patch.setattr(Sums, "made", broken)
        with pytest.raises(FloatingPointError):
            live.apply([Change(1, 2, 5.0)], 1)
    assert_answers(live.snapshot, chain, SHAPES["plus"], ratings)
    live.apply([Change(1, 2, 5.0), Change(7, 0, 2.0)], 1)
    assert_answers(live.snapshot, chain, SHAPES["plus"], ratings | {(1, 2): 5.0, (7, 0): 2.0})
