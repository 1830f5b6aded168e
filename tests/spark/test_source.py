"""What cannot be ratings is refused before any work, with what would be right."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from evichain import REC
from evichain.errors import DataError, SettingsError
from evichain.ratings.synthetic import CARD, Synthetic
from evichain.spark.faults import SparkError
from evichain.spark.shared import Shared
from evichain.spark.source import read_pairs, read_source
from evichain.testing import planted_blocks

GOOD: dict[str, list[Any]] = {"user_id": [1, 2], "item_id": ["a", "b"], "rating": [4.0, 3.5]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rating": [4.0, float("nan")]}, "1 of 2 ratings are not finite numbers"),
        ({"rating": [None, float("inf")]}, "2 of 2 ratings are not finite numbers"),
        ({"rating": ["4", "3"]}, "'rating' has type string"),
        ({"user_id": [1, None]}, "1 of 2 ratings lack a user_id or an item_id"),
        ({"user_id": [1.5, 2.0]}, "'user_id' has type double"),
        ({"timestamp": ["x", "y"]}, "'timestamp' has type string"),
    ],
)
def test_bad_ratings(
    spark: SparkSession, tmp_path: Path, changes: dict[str, list[Any]], said: str
) -> None:
    path = tmp_path / "ratings.parquet"
    pl.DataFrame({**GOOD, **changes}, strict=False).write_parquet(path)
    with pytest.raises(DataError, match=said) as caught:
        read_source(spark, str(path))
    assert caught.value.right


def test_nothing_there(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_source(spark, str(tmp_path / "missing.parquet"))
    with pytest.raises(DataError, match="cannot be read"):
        read_source(spark, "table:no_such_table")
    pl.DataFrame(GOOD).clear().write_parquet(tmp_path / "empty.parquet")
    with pytest.raises(DataError, match="no ratings in it"):
        read_source(spark, str(tmp_path / "empty.parquet"))
    pl.DataFrame({"a": [1], "item": [2]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(DataError, match="no column for user_id or rating"):
        read_source(spark, str(tmp_path / "other.parquet"))
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(DataError, match="no column for the rating among 'user', 'item'") as caught:
        read_source(spark, str(tmp_path / "log.parquet"))
    assert "recommend --everyone" in caught.value.right
    with pytest.raises(DataError, match="no column for user_id among"):
        read_pairs(spark, str(tmp_path / "other.parquet"))


def test_what_java_said_of_it(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    path.write_text("user_id,item_id,rating\n1,2,3\n")
    with pytest.raises(SparkError, match=r"is not a Parquet file"):
        read_source(spark, str(path))


def test_made_up_ratings(spark: SparkSession, tmp_path: Path) -> None:
    Synthetic(2000, users=50, items=400).write(tmp_path / "made")
    assert (tmp_path / "made" / CARD).exists()
    assert read_source(spark, str(tmp_path / "made")).ratings == 2000


def test_files_of_any_name(spark: SparkSession, tmp_path: Path) -> None:
    pl.DataFrame(GOOD).write_parquet(tmp_path / "000000_0")
    assert read_source(spark, str(tmp_path)).ratings == 2
    assert read_source(spark, str(tmp_path / "000000_0")).ratings == 2


def test_good_ratings(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    pl.DataFrame(GOOD).rename({"item_id": "movieId"}).write_parquet(path)
    source = read_source(spark, str(path))
    assert (source.ratings, source.users, source.items) == (2, 2, 2)
    assert source.frame.columns == ["user_id", "item_id", "rating"]


def test_cycle_blocking_is_refused(tmp_path: Path) -> None:
    model = REC("paper", iterations=1, pretrain_iterations=0, embedding_size=3, width=4)
    model.fit(planted_blocks()).save(tmp_path / "model")
    with pytest.raises(SettingsError, match="depends on who asks"):
        Shared.load(tmp_path / "model")
    shared = Shared.load(tmp_path / "model", cycle_blocking=False)
    assert not shared.policy.cycle_blocking
