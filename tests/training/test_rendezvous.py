import pytest

from evichain.errors import SettingsError
from evichain.training.rendezvous import RENDEZVOUS, rank_and_size, rendezvous_url

NAMES = ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT", RENDEZVOUS)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Tells nothing of other processes."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_process_is_alone_unless_it_is_told_otherwise(environment: pytest.MonkeyPatch) -> None:
    assert rank_and_size() == (0, 1)
    environment.setenv("WORLD_SIZE", "1")
    assert rank_and_size() == (0, 1)
    environment.setenv("WORLD_SIZE", "3")
    environment.setenv("RANK", "2")
    assert rank_and_size() == (2, 3)


def test_what_is_missing_is_named(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("WORLD_SIZE", "2")
    with pytest.raises(SettingsError, match="RANK: is not set, but WORLD_SIZE is"):
        rank_and_size()
    with pytest.raises(SettingsError, match="MASTER_ADDR: is not set"):
        rendezvous_url()
    environment.setenv("MASTER_ADDR", "localhost")
    with pytest.raises(SettingsError, match="MASTER_PORT: is not set"):
        rendezvous_url()
    environment.setenv("MASTER_PORT", "29500")
    assert rendezvous_url() == "env://"
    environment.setenv(RENDEZVOUS, "file:///there")
    assert rendezvous_url() == "file:///there"


@pytest.mark.parametrize(
    ("size", "rank", "wrong"), [("two", "0", "WORLD_SIZE"), ("2", "2", "RANK")]
)
def test_what_is_no_such_number_is_named(
    environment: pytest.MonkeyPatch, size: str, rank: str, wrong: str
) -> None:
    environment.setenv("WORLD_SIZE", size)
    environment.setenv("RANK", rank)
    with pytest.raises(SettingsError, match=f"{wrong}: '.+' is not a whole number from"):
        rank_and_size()
