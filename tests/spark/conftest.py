"""One Spark session in this process, on the Java of the extra, and models to use there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.cluster import QUICK, environment
from tests.spark.models import RECIPES, made_up, saved_model

from evichain import REC
from evichain.spark.session import session

SMALL = {
    "spark.driver.memory": "700m",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """A session on one thread of this process's own Spark."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        with session("local[1]", SMALL) as made:
            yield made


@pytest.fixture(scope="package")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, REC]]:
    """A model of each recipe, and the folder where they are saved."""
    ratings, folder = made_up(), tmp_path_factory.mktemp("models")
    return folder, {recipe: saved_model(recipe, ratings, folder) for recipe in RECIPES}
