"""`evichain spark` refuses what it can before any Java is started."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evichain.errors import with_extra

Refused = Callable[..., list[str]]


def test_an_output_that_is_there(refused: Refused, model: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    asked = ("spark", "embed", model, "ratings.parquet", "--out", tmp_path)
    assert "already exists" in refused(*asked)[0]
    assert "Spark did not write" in refused(*asked, "--force")[0]
    by_url = (*asked[:-1], f"file://{tmp_path}")
    assert "already exists" in refused(*by_url)[0]
    assert "Spark did not write" in refused(*by_url, "--force")[0]
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("out", ["data/ratings", "data", "data/ratings/out", "linked", "x/../data"])
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_what_is_read_is_never_written_over(
    refused: Refused,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    out: str,
    scheme: str,
) -> None:
    # As Spark writes a table: it could be taken for an output of ours.
    ratings = tmp_path / "data" / "ratings"
    ratings.mkdir(parents=True)
    for name, content in (("part-0.parquet", b"PAR1"), ("_SUCCESS", b"")):
        (ratings / name).write_bytes(content)
    (tmp_path / "linked").symlink_to(ratings)
    monkeypatch.chdir(tmp_path)
    output = f"{scheme}{tmp_path / out}" if scheme else out
    for force in ([], ["--force"]):
        first, second = refused("spark", "embed", model, ratings, "--out", output, *force)
        assert first == f"error: {output}: overlaps {ratings}, which is an input"
        assert second == "Give another name."
        scoring = ("spark", "score", model, "table:ratings", "--pairs", "data/ratings")
        assert "data/ratings, which is an input" in refused(*scoring, "--out", output, *force)[0]
    assert (ratings / "part-0.parquet").read_bytes() == b"PAR1"


@pytest.mark.parametrize("text", ["spark.executor.memory", "memory=4g", "=", ""])
def test_settings_of_spark(refused: Refused, model: Path, tmp_path: Path, text: str) -> None:
    asked = ("spark", "recommend", model, "r.parquet", "--out", tmp_path / "out", "--conf", text)
    assert "is not a Spark setting" in refused(*asked)[0]


def test_what_is_no_parquet(refused: Refused, model: Path, tmp_path: Path) -> None:
    mine, folder = tmp_path / "my ratings.csv", tmp_path / "mine"
    folder.mkdir()
    for path in (mine, folder / "u.data"):
        path.write_text("1\t2\t3\n")
    out = ("--out", tmp_path / "out")
    first, second = refused("spark", "recommend", model, mine, *out)
    assert first == f"error: {mine}: is not a Parquet file"
    assert second == f"evichain data convert '{mine}' '{tmp_path}/my ratings.parquet'"
    first, second = refused("spark", "embed", model, folder, *out)
    assert first == f"error: {folder}: no file in it is Parquet"
    assert second == f"evichain data convert {folder} {folder}.parquet"
    first, second = refused("spark", "score", model, "table:ratings", "--pairs", mine, *out)
    assert first == f"error: {mine}: is not a Parquet file"
    assert "convert" not in second


def test_no_model(refused: Refused, tmp_path: Path) -> None:
    asked = ("spark", "embed", tmp_path / "none", "r.parquet", "--out", tmp_path / "out")
    assert "there is no model here" in refused(*asked)[0]


def test_without_the_extra(
    refused: Refused, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evichain.spark.faults.find_spec", lambda name: None)
    asked = ("spark", "embed", model, "r.parquet", "--out", tmp_path / "out")
    first, second = refused(*asked)
    assert "pyspark" in first
    assert second == with_extra("spark")
