"""A learning rate far too large is an error, whichever baseline it is, never answers of nothing."""

import pytest
from tests.baselines.small import SMALL, small

from evichain.baselines import make_baseline
from evichain.baselines.online_mf import OnlineMF
from evichain.errors import SettingsError
from evichain.testing import planted_blocks

LEARNING = [name for name in SMALL if "learning_rate" in make_baseline(name).get_params()]


@pytest.mark.parametrize("name", LEARNING)
def test_without_ratings_to_watch(name: str) -> None:
    model = small(name, learning_rate=1e30)()
    if "validation" in model.get_params():
        model.set_params(validation=0)
    with pytest.raises(SettingsError, match="learning_rate: training diverged"):
        model.fit(planted_blocks())


@pytest.mark.parametrize("name", ["online-mf", "biased-mf", "svd++"])
def test_what_is_not_small_enough_to_settle(name: str) -> None:
    with pytest.raises(SettingsError, match="learning_rate: training diverged"):
        make_baseline(name, learning_rate=5.0).fit(planted_blocks())


def test_what_is_added_later() -> None:
    model = small("online-mf")().fit(planted_blocks())
    assert isinstance(model, OnlineMF)
    before = model.predict(0, 0)
    model.set_params(learning_rate=5.0)
    with pytest.raises(SettingsError, match="training diverged"):
        model.add(planted_blocks(seed=1))
    assert model.predict(0, 0) == before
