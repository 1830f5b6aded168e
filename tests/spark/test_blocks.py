"""Blocks give the embeddings of one machine, however the ratings are dealt out."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.models import shared_of
from tests.strategies import policies, pools

from evichain.evidence.policy import Policy
from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.model.layers import all_layers
from evichain.model.settings import ChainSettings
from evichain.ratings.graph import Graph
from evichain.ratings.side import Side
from evichain.ratings.table import Ratings
from evichain.spark.blocks import EntityBlock
from evichain.spark.columns import as_bytes, keys_of
from evichain.spark.links import OTHER, OWN, RATING, TIME, limit_links
from evichain.spark.shared import Shared


def dealt(pool: Pool, side: Side, parts: int) -> list[pa.Table]:
    """The ratings of a pool, in no order, as so many tables."""
    frame = pool.graph.to_ratings().frame.sample(fraction=1, shuffle=True, seed=parts)
    table = pa.table(
        {
            OWN: frame[side.column].to_arrow(),
            OTHER: frame[side.opposite.column].to_arrow(),
            RATING: frame["rating"].to_arrow(),
        }
    )
    bounds = np.linspace(0, len(frame), parts + 1).astype(int)
    found = [table.slice(a, b - a) for a, b in pairwise(bounds)]
    return [part for part in found if part.num_rows]


def built(shared: Shared, pool: Pool, side: Side, parts: int, blocks: int) -> list[EntityBlock]:
    """What the cluster does: limit each part, send what is left to its block, limit again."""
    kept = []
    for part in dealt(pool, side, parts):
        kept.append(part.take(pa.array(limit_links(shared, side, part).positions)))
    links = pa.concat_tables(kept)
    number = keys_of(links[OWN].combine_chunks()) % np.uint64(blocks)
    tables = (links.filter(pa.array(number == block)) for block in range(blocks))
    made = [EntityBlock.build(shared, side, table) for table in tables if table.num_rows]
    return [EntityBlock.unpacked(block.packed(3)) for block in made]


def everyone(
    shared: Shared, blocks: dict[Side, list[EntityBlock]]
) -> dict[tuple[int, Side], dict[int, np.ndarray]]:
    """All embeddings by (depth, side) and id, made block by block."""
    policy, found = shared.policy, dict[tuple[int, Side], dict[int, np.ndarray]]()
    for depth in reversed(range(policy.max_depth + 1)):
        for side in Side:
            rows: dict[int, np.ndarray] = {}
            for block in blocks[side]:
                sent = None
                if depth < policy.max_depth - 1:
                    below = found[depth + 1, side.opposite]
                    positions = block.needed(policy, side, depth)
                    names = block.sources.take(pa.array(positions)).to_pylist()
                    has_embedding = np.array([name in below for name in names], np.bool_)
                    width = shared.width(side.opposite)
                    sources = [below.get(name, np.zeros(width, np.float32)) for name in names]
                    values = np.array(sources, np.float32).reshape(-1, width)
                    sent = pa.table({"position": positions, "row": as_bytes(values, has_embedding)})
                layer = block.generated(shared, side, depth, sent)
                for position, identifier in enumerate(block.ids.to_pylist()):
                    if layer.has_embedding[position]:
                        rows[identifier] = layer.rows[position]
            found[depth, side] = rows
    return found


@settings(max_examples=60)
@given(
    pools(),
    policies(channels=True),
    st.sampled_from(["mean", "channels"]),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_blocks_make_what_one_machine_makes(
    pool: Pool, policy: Policy, generator: str, parts: int, blocks: int
) -> None:
    torch.manual_seed(3)
    shape = ChainSettings.model_validate(
        {"generator": generator, "embedding_size": 4, "width": 7, "key_size": 3, "channel_size": 2}
        | {"shared_generators": False}
    )
    chain = Chain.for_pool(shape, pool, policy.max_depth)
    shared = shared_of(chain, pool, policy)
    found = everyone(shared, {side: built(shared, pool, side, parts, blocks) for side in Side})
    for (depth, side), layer in all_layers(chain, pool, policy).items():
        ids = pool.graph.ids[side].values.to_list()
        rated = np.diff(pool.graph.rows[side].indptr) > 0
        has_embedding = layer.has_embedding & rated
        assert set(found[depth, side]) == {ids[i] for i in np.flatnonzero(has_embedding)}
        for index in np.flatnonzero(has_embedding):
            np.testing.assert_allclose(
                found[depth, side][ids[index]], layer.rows[index], atol=1e-5, rtol=1e-5
            )


@pytest.fixture
def popular() -> tuple[Pool, Shared]:
    """An item that everybody rated, and a few others."""
    users = np.concatenate([np.arange(5000), np.arange(0, 5000, 7)])
    items = np.concatenate([np.zeros(5000, int), 1 + np.arange(0, 5000, 7) % 9])
    ratings = Ratings.from_arrays(users, items, 1.0 + (users + items) % 5)
    pool = Pool.most_rated(Graph.build(ratings), (12, 3))
    policy = Policy(max_depth=2, evidence_limit=20, cycle_blocking=False, bottom_prototypes=True)
    shape = ChainSettings(generator="channels", embedding_size=4, width=5, shared_generators=False)
    return pool, shared_of(Chain.for_pool(shape, pool, 2), pool, policy)


def test_no_part_hands_on_more_than_the_limit(popular: tuple[Pool, Shared]) -> None:
    pool, shared = popular
    for part in dealt(pool, Side.ITEM, 4):
        links = limit_links(shared, Side.ITEM, part)
        assert np.diff(links.ptr).max() <= 20 + 12  # the first ones, and the prototypes
        assert part.num_rows > 1000


def test_of_a_pair_rated_again_the_latest_holds(popular: tuple[Pool, Shared]) -> None:
    _, shared = popular
    table = pa.table({OWN: [7, 7, 7, 8], OTHER: [1, 1, 1, 1], RATING: [3.0, 5.0, 4.0, 2.0]})
    timed = table.append_column(TIME, pa.array([30, 10, 20, 5]))
    assert EntityBlock.build(shared, Side.USER, timed).ratings.tolist() == [3.0, 2.0]
    assert EntityBlock.build(shared, Side.USER, table).ratings.tolist() == [5.0, 2.0]


def test_ids_of_text_and_numbers_are_the_same_entities(popular: tuple[Pool, Shared]) -> None:
    _, shared = popular
    keys = keys_of(pa.array([0, 1, 4999]))
    assert (keys == keys_of(pa.array(["0", "1", "4999"]))).all()
    assert shared.slots(Side.ITEM, keys)[0] >= 0
    nobody = replace(shared, keys=(keys[:0], keys[:0]))
    assert nobody.slots(Side.ITEM, keys).tolist() == [-1, -1, -1]
