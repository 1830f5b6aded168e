"""A Spark session: that of spark-submit, one on a master, or one in this process."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evichain.spark.faults import check_installed, cleaning_up, spark_explained
from evichain.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit, which has started Java."""
DEFAULTS: Mapping[str, str] = {
    "spark.app.name": "evichain",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    # One thread per task: Spark runs one task per core.
    "spark.executorEnv.OMP_NUM_THREADS": "1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
LOCAL: Mapping[str, str] = {
    # Nothing leaves the machine, and no network is needed.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
}


@contextmanager
def session(
    master: str | None = None, settings: Mapping[str, str] | None = None
) -> "Iterator[SparkSession]":
    """A session that is stopped when the context exits.

    Args:
        master: its URL; by default that of spark-submit, or else all cores of this machine.
        settings: Spark's own settings by name; they override ours.
    """
    check_installed()
    given = dict(settings or {})
    submitted = _SUBMITTED in os.environ
    # spark-submit has its own settings.
    values = {} if submitted else dict(DEFAULTS)
    if master is not None:
        given["spark.master"] = master
    elif not submitted:
        given.setdefault("spark.master", "local[*]")
    if given.get("spark.master", "").startswith("local"):
        values |= LOCAL
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not submitted:
        find_java()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in (values | given).items():
        builder = builder.config(name, value)
    with spark_explained("cannot start a Spark session"):
        made = builder.getOrCreate()
    try:
        yield made
    finally:
        with cleaning_up():
            made.stop()
