"""Baselines by name, their settings, and what is said when something is missing."""

import sys

import pytest
from tests.baselines.small import SMALL

from evichain.baselines import BASELINES, make_baseline
from evichain.errors import SettingsError
from evichain.testing import planted_blocks

SIZES = {"factors", "vector_size", "product_size", "embedding_size", "hidden_units", "width"}
SIZES |= {"hidden_layers", "bases", "evidence_limit"}


def test_every_name_gives_its_class() -> None:
    assert BASELINES.keys() == SMALL.keys()
    for name, entry in BASELINES.items():
        model = make_baseline(name, seed=3)
        assert type(model).__name__ == entry.name
        assert model.get_params()["seed"] == 3
        assert entry.about


def test_an_unknown_name_is_answered_with_all_names() -> None:
    with pytest.raises(SettingsError, match="no baseline 'svd'") as caught:
        make_baseline("svd")
    assert all(name in str(caught.value) for name in BASELINES)


def test_settings_are_checked_and_kept() -> None:
    with pytest.raises(SettingsError, match="no setting 'depth'"):
        make_baseline("nnmf", depth=3)
    with pytest.raises(SettingsError, match="width: "):
        make_baseline("nnmf", width=0)
    model = make_baseline("nnmf", width=7)
    with pytest.raises(SettingsError, match="epochs: "):
        model.set_params(epochs=-1)
    assert model.get_params()["width"] == 7
    assert repr(model) == "NNMF(width=7)"
    assert all(field.description for field in type(model).Settings.model_fields.values())


@pytest.mark.parametrize("name", BASELINES)
def test_no_size_is_beyond_all_machines(name: str) -> None:
    for size in SIZES & make_baseline(name).get_params().keys():
        with pytest.raises(SettingsError, match=f"{size}: "):
            make_baseline(name, **{size: 10**10})


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        *((name, "surprise", "baselines") for name in ("biased-mf", "svd++", "item-knn")),
        *((name, "implicit", "bench") for name in ("ials", "item-cosine")),
    ],
)
def test_a_missing_extra_is_named(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingsError, match=f"its extra `{extra}`"):
        make_baseline(name).fit(planted_blocks())
