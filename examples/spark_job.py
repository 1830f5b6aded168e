"""What spark-submit is given: `spark-submit … examples/spark_job.py embed MODEL RATINGS --out …`."""

import sys

from evichain.cli import app

if __name__ == "__main__":
    app(["spark", *sys.argv[1:]])
