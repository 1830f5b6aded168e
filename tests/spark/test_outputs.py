from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from evichain.spark.outputs import is_ours, names_anywhere, names_here


@pytest.fixture
def folders(spark: SparkSession, tmp_path: Path) -> dict[str, bool]:
    """Folders and files, and whether Spark may replace each."""
    spark.range(3).write.parquet(str(tmp_path / "written"))
    for side in ("users", "items"):
        spark.range(3).write.parquet(str(tmp_path / "both" / side))
    (tmp_path / "empty").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("mine")
    spark.range(3).write.parquet(str(tmp_path / "added"))
    (tmp_path / "added" / "notes.txt").write_text("mine")
    ours = {"written": True, "both": True, "empty": True, "absent": True}
    others = {"home": False, "file": False, "added": False}
    return {str(tmp_path / name): replaced for name, replaced in {**ours, **others}.items()}


def test_what_others_wrote_is_told_apart_here_and_anywhere(
    spark: SparkSession, folders: dict[str, bool]
) -> None:
    anywhere = names_anywhere(spark)
    for folder, ours in folders.items():
        assert is_ours(names_here, folder) is ours
        assert is_ours(anywhere, f"file://{folder}") is ours
