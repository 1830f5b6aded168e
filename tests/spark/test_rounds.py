"""A real Spark in local mode gives what one machine gives: embeddings, predictions and lists."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyspark.sql import SparkSession
from tests.spark.models import assert_embeddings, both_ways

from evichain import REC, Ratings
from evichain.answering.graph_backend import GraphBackend
from evichain.evidence.pool import Pool
from evichain.ratings.side import Side
from evichain.spark.lists import lists
from evichain.spark.rounds import Bulk
from evichain.spark.scores import scores
from evichain.spark.shared import Shared
from evichain.spark.source import read_pairs, read_source
from evichain.spark.vectors import vectors

Models = tuple[Path, dict[str, REC]]
ITEMS_A_BLOCK = {"plus": 150, "choices": 150, "paper": 10**6}
"""Lists are merged from several blocks of items, or made from all of them at once."""


@pytest.fixture(scope="module", params=["plus", "choices", "paper"])
def recipe(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def bulk(spark: SparkSession, models: Models, recipe: str) -> Bulk:
    folder, _ = models
    source = read_source(spark, str(folder / f"{recipe}.parquet"))
    return Bulk.over(source, Shared.load(folder / recipe), blocks=3)


def test_embeddings_of_everyone(bulk: Bulk, models: Models, recipe: str, tmp_path: Path) -> None:
    for side in Side:
        vectors(bulk, side).write.parquet(str(tmp_path / f"{side.noun}s"))
    assert_embeddings(models[1][recipe].backend, tmp_path)


def test_nothing_is_collected_for_a_join(bulk: Bulk) -> None:
    for side in Side:
        plan = bulk.embeddings(side)._jdf.queryExecution().toString()
        assert "SortMergeJoin" in plan
        assert "BroadcastExchange" not in plan


def test_predictions(
    spark: SparkSession, bulk: Bulk, models: Models, recipe: str, tmp_path: Path
) -> None:
    model = models[1][recipe]
    # As text, one hot item, and strangers on either side.
    users = [str(user) for user in range(1, 300, 3)] + ["1", "x", "x"]
    items = ["391"] * (len(users) - 3) + ["999999", "391", "999999"]
    pl.DataFrame({"userId": users, "movieId": items}).write_parquet(tmp_path / "pairs.parquet")
    pairs = read_pairs(spark, str(tmp_path / "pairs.parquet"))
    rows = {(row["user_id"], row["item_id"]): row for row in scores(bulk, pairs).toLocalIterator()}
    assert len(rows) == len(users)
    expected = model.predict(users, items)
    for position, pair in enumerate(zip(users, items, strict=True)):
        found, right = rows[pair], expected[position]
        assert found["estimate"] == pytest.approx(right.estimate, abs=1e-4)
        assert found["reason"] == right.reason
        assert (found["std"] is None) == (right.std is None)
        if right.std is not None:
            assert found["std"] == pytest.approx(right.std, abs=1e-4)


def test_lists(bulk: Bulk, models: Models, recipe: str) -> None:
    model = models[1][recipe]
    found = lists(bulk, 5, items_a_block=ITEMS_A_BLOCK[recipe]).orderBy("user_id", "rank")
    rows = pl.DataFrame([row.asDict() for row in found.toLocalIterator()], infer_schema_length=None)
    users = model.graph.ids[Side.USER].values.to_list()
    assert rows["user_id"].unique().sort().to_list() == sorted(users)
    for user in (1, 13, 205, 300):
        mine, right = rows.filter(pl.col("user_id") == user), model.recommend(user, 5)
        assert mine["rank"].to_list() == [1, 2, 3, 4, 5]
        np.testing.assert_allclose(mine["estimate"], [r.estimate for r in right], atol=1e-4)
        alone = model.predict([user] * 5, mine["item_id"].to_list()).estimates
        np.testing.assert_allclose(mine["estimate"], alone, atol=1e-4)
        seen = {item for item, _ in model.graph.rated(Side.USER, users.index(user))}
        assert not seen & set(mine["item_id"])


def test_a_table_with_times_text_ids_and_an_item_that_everybody_rated(
    spark: SparkSession, models: Models, tmp_path: Path
) -> None:
    """Skew: half of all ratings are of one item, and no block holds them all.

    Of a pair rated twice within a second, the later rating holds, though it stands first.
    """
    folder, _ = models
    users = [f"u{number}" for number in range(3000)]
    frame = pl.DataFrame(
        {
            "user": users * 2,
            "item": [50] * 3000 + [1 + number % 200 for number in range(3000)],
            "stars": [1.0 + number % 5 for number in range(6000)],
            "time": pl.Series([9] * 6000).cast(pl.Datetime("ms")),
        }
    )
    earlier = frame.with_columns(stars=5.0, time=pl.col("time") - pl.duration(milliseconds=3))
    table = pl.concat([frame, earlier.head(1000)]).unique(maintain_order=True)
    table.write_parquet(tmp_path / "r.parquet")
    spark.read.parquet(str(tmp_path / "r.parquet")).createOrReplaceTempView("skewed")
    bulk = Bulk.over(read_source(spark, "table:skewed"), Shared.load(folder / "plus"), blocks=4)
    sizes = [len(row["indices"]) // 4 for row in bulk.evidence[Side.ITEM].toLocalIterator()]
    # 200 items of 15 ratings each; of the popular one, no more than the limit.
    assert len(sizes) == 4
    assert sum(sizes) == 199 * 15 + 20
    kept = Ratings.from_frame(pl.read_parquet(tmp_path / "r.parquet"))
    assert kept.duplicates
    engine = REC.load(folder / "plus").backend
    pool = Pool.of(engine.graph.emptied().extended(kept), engine.pool.ids)
    for side in Side:
        vectors(bulk, side).write.parquet(str(tmp_path / "out" / f"{side.noun}s"))
    grown = GraphBackend(engine.chain, pool, engine.settings)
    assert_embeddings(grown, tmp_path / "out")
    # Of the model's prototypes the table has items only: chains from users lead to them.
    assert len(both_ways(grown, tmp_path / "out", Side.USER)[0])


def test_nothing_stays_with_the_executors(spark: SparkSession, models: Models) -> None:
    folder, _ = models
    source = read_source(spark, str(folder / "plus.parquet"))
    bulk = Bulk.over(source, Shared.load(folder / "plus"), blocks=3)
    pairs = spark.createDataFrame([(1, 391)], "user_id bigint, item_id bigint")
    scores(bulk, pairs)
    assert all(frame.is_cached for frame in (pairs, *bulk.evidence))
    bulk.close()
    assert not any(frame.is_cached for frame in (pairs, *bulk.evidence))
