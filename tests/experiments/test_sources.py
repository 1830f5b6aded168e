from pathlib import Path

import pytest

from evichain.experiments import sources
from evichain.experiments.sources import Source, default_data
from evichain.testing import planted_blocks


@pytest.mark.parametrize(
    ("data", "label", "paper_name"),
    [
        ("ml-1m", "ml-1m", "ml-1m"),
        ("somewhere/ml-10M100K", "ml-10M100K", "ml-10m"),
        ("films/ratings.parquet", "films", None),
        ("films/mine.csv.gz", "mine", None),
        ("ml-1m.csv", "ml-1m", "ml-1m"),
        ("here/ml-100k.tsv.gz", "ml-100k", "ml-100k"),
        ("ml-1m/ratings.dat", "ml-1m", "ml-1m"),
        ("ml-1m-first-1000.csv", "ml-1m-first-1000", None),
        ("ml-100kids.csv", "ml-100kids", None),
        ("ml-1m.first.csv", "ml-1m.first", None),
    ],
)
def test_data_is_called_what_it_is(data: str, label: str, paper_name: str | None) -> None:
    source = Source(data)
    assert (source.label, source.paper_name) == (label, paper_name)


def test_other_data_is_treated_as_the_papers_of_its_size(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    planted_blocks(20, 10).frame.write_csv(path)
    assert Source(str(path)).paper_settings == Source("ml-100k").paper_settings
    assert Source("ml-1m").paper_settings.early == {"evidence_limit": 20, "max_depth": 2}
    assert Source("ml-10m").paper_settings.standard == {"evidence_limit": 40, "max_depth": 3}
    assert [Source(data).paper_settings.pmf_batch for data in sources.PAPER_SETTINGS] == [
        1000,
        5000,
        10_000,
    ]


def test_the_size_of_a_set_of_the_catalogue_is_known_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVICHAIN_CACHE", str(tmp_path))
    assert Source("ml-25m").nearest_paper_name == "ml-10m"
    assert not list(tmp_path.iterdir())


def test_the_same_name_with_other_content_is_other_data(tmp_path: Path) -> None:
    paths = [tmp_path / name / "mine.csv" for name in ("a", "b", "c")]
    for path, seed in zip(paths, (0, 0, 1), strict=True):
        path.parent.mkdir()
        planted_blocks(20, 10, seed=seed).frame.write_csv(path)
    first, same, other = (Source(str(path)).identity for path in paths)
    assert first == same
    assert first != other


def test_a_quick_run_keeps_the_ratings_of_some_users(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    everything = planted_blocks(400, 300, density=0.4)
    everything.frame.write_csv(path)
    few = Source(str(path), quick=True).ratings()
    assert 0.8 * sources.QUICK_RATINGS < len(few) < 1.2 * sources.QUICK_RATINGS
    counts = [dict(part.frame.group_by("user_id").len().iter_rows()) for part in (everything, few)]
    assert all(counts[0][user] == count for user, count in counts[1].items())
    assert len(Source(str(path)).ratings()) == len(everything)


def test_a_part_has_that_share_of_users(small_data: str) -> None:
    part = Source(small_data).part(0.5)
    assert part.frame["user_id"].n_unique() == 45


def test_the_largest_is_asked_for_only_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVICHAIN_CACHE", str(tmp_path))
    assert default_data(quick=False) == ["ml-100k", "ml-1m"]
    assert default_data(quick=True) == ["ml-100k"]
