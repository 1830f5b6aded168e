"""What Spark could not read is refused without it."""

from pathlib import Path

import polars as pl
import pytest

from evichain.errors import DataError
from evichain.spark.addresses import check_parquet


def test_parquet_of_any_name_and_depth(tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    pl.DataFrame({"user": [1]}).write_parquet(tmp_path / "day=1" / "000000_0")
    (tmp_path / "notes.txt").write_text("mine")
    check_parquet(str(tmp_path))
    check_parquet(str(tmp_path / "day=1" / "000000_0"))
    with pytest.raises(DataError, match=r"notes\.txt: is not a Parquet file"):
        check_parquet(str(tmp_path / "notes.txt"))


def test_what_is_not_on_this_machine_is_left_to_spark(tmp_path: Path) -> None:
    for address in ("table:films.ratings", "hdfs:///ratings.csv", str(tmp_path / "none.csv")):
        check_parquet(address)


def test_nothing_is_to_be_converted_to_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("no Parquet")
    with pytest.raises(DataError) as caught:
        check_parquet(str(path))
    assert caught.value.right == "Give Parquet, or table:NAME."
