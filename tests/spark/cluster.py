"""A standalone cluster of processes on this machine: a master and its workers."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

import evichain
from evichain.spark.java import bundled_java

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For Java that lives for moments: to compile everything well would take longer than to run it."""
_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


def environment() -> dict[str, str]:
    """What Spark's processes need to know: this Java, this Python, this evichain, no network."""
    return os.environ | {
        "JAVA_HOME": str(bundled_java()),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(evichain.__file__).parents[1]),
    }


@contextmanager
def running_cluster(folder: Path, workers: int = 2, memory: str = "700m") -> Iterator[str]:
    """Start a master and workers with a core each; the master's URL."""
    with ExitStack() as stack:
        address = ["--host", "127.0.0.1", "--webui-port", "0"]
        log = stack.enter_context(_process("master", folder, *address, "--port", "0"))
        master = _said(log, r"Starting Spark master at (spark://\S+)")
        page = _said(log, r"MasterWebUI.* started at (http://\S+)")
        for number in range(workers):
            own = folder / f"worker-{number}"
            own.mkdir()
            size = ["--cores", "1", "--memory", memory, "--work-dir", str(own)]
            stack.enter_context(_process("worker", own, *address, *size, master))
        while _alive(page) < workers:
            time.sleep(0.2)
        yield master


@contextmanager
def _process(role: str, folder: Path, *arguments: str) -> Iterator[Path]:
    """A process of the cluster, ended with the context; its log."""
    name = f"org.apache.spark.deploy.{role}.{role.capitalize()}"
    log = folder / f"{role}.log"
    with log.open("wb") as out:
        running = subprocess.Popen(
            [str(_CLASS), name, *arguments], stdout=out, stderr=out, env=environment(), cwd=folder
        )
        try:
            yield log
        finally:
            running.terminate()
            running.wait()


def _said(log: Path, pattern: str) -> str:
    """What a process says of itself in its log, as soon as it does."""
    while not (found := re.search(pattern, log.read_text())):
        time.sleep(0.2)
    return found[1]


def _alive(page: str) -> int:
    with urllib.request.urlopen(f"{page}/json/") as answer:
        workers = json.load(answer)["workers"]
    return sum(worker["state"] == "ALIVE" for worker in workers)
