"""The command on a real cluster: a master and two workers, processes of their own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyspark
import pytest
from tests.spark.cluster import QUICK, environment, running_cluster
from tests.spark.models import assert_embeddings

import evichain
from evichain import REC

Models = tuple[Path, dict[str, REC]]
SMALL = [
    argument
    for setting in (
        "spark.driver.memory=500m",
        "spark.executor.memory=500m",
        "spark.driver.host=127.0.0.1",
        f"spark.driver.extraJavaOptions={QUICK}",
        f"spark.executor.extraJavaOptions={QUICK}",
        "spark.sql.shuffle.partitions=2",
        "spark.ui.enabled=false",
    )
    for argument in ("--conf", setting)
]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url


def called(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evichain", "spark", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)


def test_embeddings_of_everyone(master: str, models: Models, tmp_path: Path) -> None:
    folder, known = models
    ratings, out = folder / "plus.parquet", tmp_path / "out"
    done = called(
        "embed", folder / "plus", ratings, "--out", out, "--master", master, *SMALL, "--json"
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    graph = known["plus"].graph
    users, items = (len(ids) for ids in graph.ids)
    assert (said["ratings"], said["users"], said["items"]) == (len(graph), users, items)
    assert_embeddings(known["plus"].backend, out)


def test_spark_submit(master: str, models: Models, tmp_path: Path) -> None:
    folder, known = models
    job = Path(evichain.__file__).parents[2] / "examples" / "spark_job.py"
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    arguments = ["recommend", folder / "paper", folder / "paper.parquet", "-n", 3]
    command = [submit, "--master", master, *SMALL, job, *arguments, "--out", tmp_path / "out"]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    found = pl.read_parquet(tmp_path / "out" / "*.parquet").sort("user_id", "rank")
    model = known["paper"]
    for user in (1, 150, 300):
        mine = found.filter(pl.col("user_id") == user)["estimate"].to_list()
        right = [each.estimate for each in model.recommend(user, 3)]
        assert mine == pytest.approx(right, abs=1e-4)
    assert len(found) == 3 * len(model.graph.ids[0])


def test_a_master_that_is_not_there(models: Models, tmp_path: Path) -> None:
    folder, _ = models
    done = called(
        "embed",
        folder / "plus",
        folder / "plus.parquet",
        "--out",
        tmp_path / "out",
        "--master",
        "no-such-scheme",
        *SMALL,
    )
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(said) == 1
    assert "cannot start a Spark session" in said[0]
    assert "Traceback" not in done.stderr
