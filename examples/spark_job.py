"""For spark-submit: `spark-submit OPTIONS spark_job.py embed MODEL RATINGS --out PATH`."""

import sys

from evichain.cli import app

if __name__ == "__main__":
    app(["spark", *sys.argv[1:]])
