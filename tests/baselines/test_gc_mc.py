"""GC-MC: messages, normalization and decoder, against dense matrices."""

from typing import Literal

import numpy as np
import pytest
import torch
from tests.baselines.small import small

from evichain.baselines._rated_pairs import RatedPairs
from evichain.baselines.gc_mc import GCMCNet, GCMCSettings, messages
from evichain.ratings.side import Side

USERS, ITEMS, LEVELS = 5, 4, 3
COUNTS = USERS, ITEMS


def dense_levels() -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    """[users, items]: a level, or -1 where nothing was rated; one user rated nothing."""
    found = np.random.default_rng(0).integers(-1, LEVELS, size=COUNTS)
    found[3] = -1
    return found


def as_pairs() -> tuple[RatedPairs, "np.ndarray[tuple[int], np.dtype[np.int64]]"]:
    levels = dense_levels()
    users, items = (part.astype(np.int32) for part in np.nonzero(levels >= 0))
    return RatedPairs(users, items, np.zeros(len(users), np.float32)), levels[users, items]


@pytest.mark.parametrize("normalization", ["left", "symmetric"])
@pytest.mark.parametrize("accumulation", ["stack", "sum"])
def test_embeddings_are_those_of_dense_products(
    accumulation: Literal["stack", "sum"], normalization: Literal["left", "symmetric"]
) -> None:
    form = GCMCSettings(
        hidden_units=6, embedding_size=4, accumulation=accumulation, normalization=normalization
    )
    torch.manual_seed(0)
    net = GCMCNet(COUNTS, LEVELS, form).eval()
    pairs, codes = as_pairs()
    levels = dense_levels()
    for side in Side:
        rated = levels if side is Side.USER else levels.T
        adjacent = [
            torch.from_numpy((rated == level).astype(np.float32)) for level in range(LEVELS)
        ]
        own = torch.from_numpy((rated >= 0).sum(axis=1).astype(np.float32)).unsqueeze(1)
        other = torch.from_numpy((rated >= 0).sum(axis=0).astype(np.float32)).unsqueeze(0)
        norm = own.expand(rated.shape) if normalization == "left" else (own * other).sqrt()
        table = net.tables[side.opposite]
        parts = []
        for level in range(LEVELS):
            told = table[:, level]
            if accumulation == "sum":
                told = table[:, : level + 1].sum(dim=1)
            parts.append((adjacent[level] / norm.clamp_min(1e-9)) @ told)
        heard = torch.cat(parts, dim=1) if accumulation == "stack" else torch.stack(parts).sum(0)
        wanted = torch.relu(heard) @ net.dense.weight.T
        coming = messages(pairs, codes, side, COUNTS, LEVELS, form)
        torch.testing.assert_close(net.embeddings(side, coming), wanted)


def test_the_decoder_mixes_bilinear_forms() -> None:
    net = GCMCNet(COUNTS, LEVELS, GCMCSettings(hidden_units=6, embedding_size=4, bases=2))
    users, items = torch.randn(USERS, 4), torch.randn(ITEMS, 4)
    forms = torch.einsum("sr,sde->rde", net.mixture, net.bases)
    wanted = torch.einsum("ud,rde,ie->uir", users, forms, items)
    found = torch.einsum("use,ie->uis", net.turned(users), items) @ net.mixture
    torch.testing.assert_close(found, wanted)
    for basis in net.bases.detach():
        torch.testing.assert_close(basis @ basis.T, torch.eye(4), atol=1e-5, rtol=0)


def test_dropout_loses_all_messages_of_an_entity_or_none() -> None:
    form = GCMCSettings(hidden_units=6, embedding_size=4, dropout=0.5, accumulation="sum")
    net = GCMCNet(COUNTS, LEVELS, form).train()
    # One message each, and a dense layer that shows what was heard.
    nobody = np.zeros(1, np.int32)
    pairs = RatedPairs(nobody, nobody, np.zeros(1, np.float32))
    coming = messages(pairs, np.array([0]), Side.USER, COUNTS, LEVELS, form)
    with torch.no_grad():
        net.tables[Side.ITEM].fill_(1.0)
        net.dense.weight.fill_(1.0)
        torch.manual_seed(0)
        found = {round(float(net.embeddings(Side.USER, coming)[0, 0]), 3) for _ in range(200)}
    # Six hidden units of 2 (kept, doubled), each kept or not, doubled again; or nothing at all.
    assert found <= {4.0 * kept for kept in range(7)}
    assert 0.0 in found
    assert max(found) > 4.0


def test_added_messages_learn_as_well() -> None:
    from evichain.testing import planted_blocks

    make = small("gc-mc", accumulation="sum", normalization="symmetric")
    model = make().fit(planted_blocks())
    assert model.predict(0, 2).estimate > 4.5
    assert model.predict(0, 3).estimate < 1.5
