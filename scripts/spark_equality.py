"""Whether the embeddings that Spark makes of a model's ratings are those of one machine.

    evichain train ml-1m --iterations 5 --out model
    python -m scripts.spark_equality model

To be called where the repository is: the cluster, a master and two workers, is that of the tests.
Prints a JSON object for local mode and one for the cluster; the status is 1 if embeddings differ.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.spark.cluster import environment, running_cluster
from tests.spark.models import TOLERANCE, both_ways

from evichain import REC
from evichain.ratings import Side

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "1500m",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
}


def main(model: Path) -> int:
    """Compare on two threads of one process, then on two workers."""
    known = REC.load(model)
    with tempfile.TemporaryDirectory(prefix="evichain-spark-") as name:
        folder = Path(name)
        ratings = folder / "ratings.parquet"
        known.graph.to_ratings().frame.write_parquet(ratings)
        with running_cluster(folder, workers=2, memory="2g") as url:
            ways = {"local": "local[2]", "cluster": url}
            equal = [
                _compare(known, model, ratings, folder / way, master)
                for way, master in ways.items()
            ]
    return 0 if all(equal) else 1


def _compare(known: REC, model: Path, ratings: Path, out: Path, master: str) -> bool:
    command = [sys.executable, "-m", "evichain", "spark", "embed", model, ratings, "--out", out]
    command += ["--master", master, "--blocks", 4, "--json"]
    for setting in SETTINGS.items():
        command += ["--conf", "=".join(setting)]
    done = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environment(), check=True
    )
    said = {"master": master, **json.loads(done.stdout)}
    worst = 0.0
    for side in Side:
        made, right = both_ways(known.backend, out, side)
        apart = np.abs(made - right)
        worst = max(worst, float((apart / (1 + np.abs(right))).max()))
        said[side.noun] = {
            "embeddings": len(right),
            "numbers_each": right.shape[1],
            "largest_number": float(np.abs(right).max()),
            "largest_difference": float(apart.max()),
        }
    said["equal"] = worst <= TOLERANCE
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    return bool(said["equal"])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
