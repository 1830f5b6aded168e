import pytest

from evichain.baselines import BASELINES
from evichain.experiments.rmse_table import SYSTEMS
from evichain.experiments.sources import Source
from evichain.experiments.systems import Growing, make_system, settings_of
from evichain.recipes import settings_for


def test_the_papers_form_has_the_papers_settings() -> None:
    settings = make_system("paper", Source("ml-10m"), 7).settings.model_dump()
    assert (settings["evidence_limit"], settings["max_depth"]) == (40, 3)
    assert settings["seed"] == 7


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_learns_little_in_a_quick_run(system: str, small_data: str) -> None:
    quick = make_system(system, Source(small_data, quick=True), 1).settings.model_dump()
    full = make_system(system, Source(small_data), 1).settings.model_dump()
    effort = [name for name in ("iterations", "epochs", "passes") if name in full]
    assert all(quick[name] <= full[name] for name in effort)
    assert all(quick[name] <= 20 for name in effort)


@pytest.mark.parametrize("data", ["ml-1m", "ml-10m", "ml-25m"])
def test_a_baseline_has_its_settings_for_data_of_that_size(data: str) -> None:
    told = settings_of("biased-mf", Source(data), 2)
    assert (told["factors"], told["epochs"], told["regularization"]) == (50, 40, 0.05)
    assert make_system("pmf", Source(data), 2).settings.model_dump()["iterations"] == 8000
    assert make_system("pmf", Source("ml-100k"), 2).settings.model_dump()["iterations"] == 2000


@pytest.mark.parametrize("system", BASELINES)
def test_what_is_known_of_larger_data_is_little_in_a_quick_run_too(system: str) -> None:
    quick = make_system(system, Source("ml-1m", quick=True), 1).settings.model_dump()
    assert all(quick.get(name, 0) <= 20 for name in ("iterations", "epochs", "passes"))


def test_who_takes_in_ratings_later_is_known() -> None:
    source = Source("ml-100k")
    assert isinstance(make_system("plus", source, 0), Growing)
    assert isinstance(make_system("online-mf", source, 0), Growing)
    assert not isinstance(make_system("pmf", source, 0), Growing)


def test_results_are_known_by_the_settings_that_follow_the_data(small_data: str) -> None:
    source = Source(small_data)
    known = settings_of("plus", source, 3)
    ours = settings_for("plus", ratings=len(source.ratings()), seed=3)
    assert known == ours.model_dump()
    assert known["cold_start_share"] == 0
