"""Progress of Spark: counts finished tasks while a job runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evichain.progress import progress
from evichain.spark.faults import cleaning_up

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_SECONDS = 0.5


@contextmanager
def watching(spark: "SparkSession", description: str) -> Iterator[None]:
    """Show the number of finished tasks while the context is open."""
    context, over = spark.sparkContext, threading.Event()
    with progress(description, None, unit="tasks") as advance:

        def count() -> None:
            with cleaning_up():
                advance(_tasks_done(context) - advance.done)

        def look() -> None:
            while not over.wait(_SECONDS):
                count()

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            count()


def _tasks_done(context: "SparkContext") -> int:
    tracker, done = context.statusTracker(), 0
    for job in tracker.getJobIdsForGroup(None):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info else ():
            found = tracker.getStageInfo(stage)
            done += found.numCompletedTasks if found else 0
    return done
