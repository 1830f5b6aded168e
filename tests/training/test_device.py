"""Steps on other devices: that they compute the same, and that nothing is left elsewhere."""

from typing import Any

import pytest
import torch

from evichain.errors import SettingsError
from evichain.evidence.pool import Pool
from evichain.model.chain import Chain
from evichain.model.generator import Generator
from evichain.ratings.graph import Graph
from evichain.recipes import settings_for
from evichain.recommender import REC
from evichain.testing import planted_blocks
from evichain.training.device import device_named
from evichain.training.trainer import Trainer, loss_of, make_batch

SHAPES: dict[str, dict[str, Any]] = {
    "plus": {"embedding_size": 6, "key_size": 5, "channel_size": 3, "width": 9},
    "paper": {"embedding_size": 6, "width": 9, "cycle_blocking": True},
}
SMALL: dict[str, Any] = {"prototype_users": 9, "prototype_items": 9, "batch_size": 150}


def a_trainer(recipe: str, **changes: Any) -> Trainer:
    settings = settings_for(recipe, **SHAPES[recipe], **SMALL, **changes)
    pool = Pool.most_rated(Graph.build(planted_blocks(noise=0.2)), (9, 9))
    torch.manual_seed(0)
    chain = Chain.for_pool(settings.chain, pool, settings.policy.max_depth)
    return Trainer(chain, pool, settings.policy, settings.training)


@pytest.mark.parametrize("recipe", SHAPES)
def test_ordinary_operations_train_as_the_kernels_do(recipe: str) -> None:
    curves = []
    for ordinary in (False, True):
        trainer = a_trainer(recipe, iterations=30)
        for generator in trainer.chain.generators:
            assert isinstance(generator, Generator)
            generator.ordinary = ordinary
        curve: list[float] = []
        trainer.watch = lambda step, values, curve=curve: curve.append(values["train_rmse"])
        trainer.train()
        curves.append(curve)
    assert len(curves[0]) == 30
    assert curves[1] == pytest.approx(curves[0], abs=1e-4)


@pytest.mark.parametrize("recipe", SHAPES)
def test_a_step_stays_on_its_device(recipe: str) -> None:
    """On the device that knows the shapes of tensors only, so that any machine has it."""
    trainer = a_trainer(recipe)
    batch = make_batch(trainer.pool, trainer.policy, trainer.settings, 0)
    chain = trainer.chain.to("meta")
    loss, error = loss_of(chain, batch, 0.01)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.is_meta
    assert error.is_meta
    assert all(p.grad is None or p.grad.is_meta for p in chain.parameters())
    assert any(p.grad is not None for p in chain.generators.parameters())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics processor")
@pytest.mark.parametrize("recipe", SHAPES)
def test_a_graphics_processor_trains_the_same_model(recipe: str) -> None:
    ratings = planted_blocks(noise=0.2)
    settings = {**SHAPES[recipe], **SMALL, "iterations": 30}
    ours, theirs = (REC(recipe, **settings).fit(ratings, device=d) for d in ("cuda", "cpu"))
    assert ours.evaluate(ratings).rmse == pytest.approx(theirs.evaluate(ratings).rmse, abs=1e-3)


@pytest.mark.parametrize("name", ["abacus", "meta", "cuda:99", ""])
def test_what_cannot_compute_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="cannot compute on"):
        device_named(name)
