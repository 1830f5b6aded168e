"""The catalogue, and the one set that every installation can get."""

from pathlib import Path

import pytest

from evichain.errors import DataError
from evichain.ratings import CATALOGUE, cache_folder, fetch, load_ratings, load_split


def test_every_set_is_described_and_verified() -> None:
    expected = {"ml-100k", "ml-1m", "ml-10m", "ml-20m", "ml-25m", "ml-latest-small"}
    assert set(CATALOGUE) == expected
    for name, dataset in CATALOGUE.items():
        assert dataset.name == name
        assert dataset.ratings > dataset.users > 0
        assert dataset.citation
        for source in dataset.sources:
            digest = getattr(source, "digest", "")
            assert digest or all(member.sha256 for member in source.members)
            assert all(Path(member.file).name == member.file for member in source.members)


def test_ml_100k_by_name() -> None:
    ratings = load_ratings("ml-100k")
    dataset = CATALOGUE["ml-100k"]
    assert len(ratings) == dataset.ratings
    assert ratings.frame["user_id"].n_unique() == dataset.users
    assert ratings.frame["item_id"].n_unique() == dataset.items
    assert ratings.duplicates == 0
    assert ratings.name == "ml-100k"
    assert ratings.mean == pytest.approx(3.52986)
    assert ratings.titles is not None
    assert ratings.titles.row(0) == (1, "Toy Story (1995)")
    assert len(ratings.titles) == dataset.items


@pytest.mark.parametrize("name", ["u1", "u5", "ua", "ub"])
def test_ml_100k_and_its_splits(name: str) -> None:
    split = load_split("ml-100k", name)
    assert len(split.train) + len(split.test) == 100_000
    assert len(split.test) == (20_000 if name[1].isdigit() else 9_430)
    assert split.train.name == "ml-100k"
    pairs = split.train.frame.join(split.test.frame, on=["user_id", "item_id"])
    assert pairs.is_empty()


def test_the_folder_of_a_set_is_a_path_like_any_other() -> None:
    folder = fetch("ml-100k")
    assert load_ratings(folder).frame.equals(load_ratings("ml-100k").frame)
    assert load_ratings(folder / "u.data").frame.equals(load_ratings("ml-100k").frame)


def test_the_cache_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVICHAIN_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("EVICHAIN_CACHE")
    assert cache_folder().name == "evichain"


def test_unknown_names_are_met_with_the_known() -> None:
    with pytest.raises(DataError, match=r"Did you mean ml-100k\?"):
        load_ratings("ML100k")
    with pytest.raises(DataError, match="There are ml-100k, ml-1m"):
        fetch("ml-2000")
