"""Java dies in the midst of a job."""

import subprocess
import sys
from pathlib import Path

from tests.spark.cluster import environment
from tests.spark.conftest import SMALL
from tests.spark.models import made_up, saved_model

_JOB = f"""
import os, signal, sys, time
from contextlib import closing
from evichain.spark.faults import SparkError, spark_explained
from evichain.spark.rounds import Bulk
from evichain.spark.session import session
from evichain.spark.shared import Shared
from evichain.spark.source import read_source
from evichain.spark.vectors import vectors
from evichain.spark.watching import watching
from evichain.ratings.side import Side

ratings, model = sys.argv[1:]
try:
    with session("local[1]", {SMALL!r}) as spark:
        with (
            watching(spark, "Embedding"),
            spark_explained("Spark gave the job up"),
            closing(Bulk.over(read_source(spark, ratings), Shared.load(model))) as bulk,
        ):
            os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
            time.sleep(1)
            vectors(bulk, Side.USER).count()
except SparkError as error:
    print(error)
"""


def test_what_java_died_of_is_told_and_nothing_that_follows_from_it(tmp_path: Path) -> None:
    saved_model("plus", made_up(), tmp_path)
    job = [sys.executable, "-c", _JOB, str(tmp_path / "plus.parquet"), str(tmp_path / "plus")]
    ran = subprocess.run(job, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "Spark gave the job up" in ran.stdout
