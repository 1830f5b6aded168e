"""Lists for every user: made for each pair of a user block and an item block, then merged."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from evichain.answering.lists import ListBatch, list_batches
from evichain.model.inference import HeadOutput, read
from evichain.ratings.columns import ITEM, USER
from evichain.ratings.side import Side
from evichain.spark.columns import from_bytes, positions_among, whole
from evichain.spark.rounds import Bulk
from evichain.spark.shared import Shared

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_USERS_A_BLOCK = 1 << 16
_ITEMS_A_BLOCK = 1 << 17
_SEEN_A_BLOCK = 1 << 22
"""How many ratings a task reads to exclude items that users have seen."""


def lists(
    bulk: Bulk, n: int, *, exclude_seen: bool = True, items_a_block: int = _ITEMS_A_BLOCK
) -> "DataFrame":
    """For every user that the model can answer for, the n items with the highest estimates.

    Rows of user_id, `rank` (from 1), item_id, `estimate` and `std` (null if not predicted).
    """
    source = bulk.source
    parallel = source.frame.sparkSession.sparkContext.defaultParallelism
    item_blocks = -(-source.items // items_a_block)
    seen_blocks = -(-source.ratings // (_SEEN_A_BLOCK * item_blocks)) if exclude_seen else 1
    user_blocks = max(parallel, seen_blocks, -(-source.users // _USERS_A_BLOCK))

    def block(user: "Column", item: "Column") -> "Column":
        return (user * item_blocks + item).cast("int").alias("block")

    def part(name: str, blocks: int) -> "Column":
        return F.pmod(F.hash(name), F.lit(blocks))

    def every(blocks: int) -> "Column":
        return F.explode(F.sequence(F.lit(0), F.lit(blocks - 1)))

    nothing = F.lit(None)
    users = (
        bulk.embeddings(Side.USER)
        .select(F.col("id").alias(USER), "row")
        .select(USER, "row", every(item_blocks).alias("other"))
        .select(
            block(part(USER, user_blocks), F.col("other")),
            USER,
            nothing.cast(source.id_type(Side.ITEM)).alias(ITEM),
            "row",
        )
    )
    if exclude_seen:
        seen = source.frame.select(
            block(part(USER, user_blocks), part(ITEM, item_blocks)),
            USER,
            ITEM,
            nothing.cast("binary").alias("row"),
        )
        users = users.unionByName(seen)
    items = (
        bulk.embeddings(Side.ITEM)
        .where(F.col("row").isNotNull())
        .select(F.col("id").alias(ITEM), "row")
        .select(ITEM, "row", every(user_blocks).alias("other"))
        .select(block(F.col("other"), part(ITEM, item_blocks)), ITEM, "row")
    )
    sent = bulk.sent

    def listed(left: pa.Table, right: pa.Table) -> pa.Table:
        return pa.concat_tables(_lists(sent.value, left, right, n))

    schema = (
        f"{USER} {source.id_type(Side.USER)}, rank int, {ITEM} {source.id_type(Side.ITEM)}, "
        "score float, estimate float, std float"
    )
    found = users.groupBy("block").cogroup(items.groupBy("block")).applyInArrow(listed, schema)
    if item_blocks > 1:
        order = Window.partitionBy(USER).orderBy(F.col("score").desc(), F.col(ITEM).asc())
        found = found.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= n)
    return found.drop("score")


def _lists(shared: Shared, left: pa.Table, right: pa.Table, n: int) -> Iterator[pa.Table]:
    """The lists of a block of users over a block of items, some users at a time."""
    rated = pc.is_valid(left[ITEM])
    asking, seen = left.filter(pc.invert(rated)), left.filter(rated)
    # By id, because ties go to the first item, as everywhere else.
    right = right.sort_by(ITEM)
    users, items = _outputs(shared, Side.USER, asking), _outputs(shared, Side.ITEM, right)
    names, titles = whole(asking[USER]), whole(right[ITEM])
    who, what = positions_among(seen[USER], names), positions_among(seen[ITEM], titles)
    kept = (who >= 0) & (what >= 0)
    order = np.argsort(who[kept], kind="stable")
    pairs = who[kept][order].astype(np.int64), what[kept][order]
    return (_table(found, names, titles, shared) for found in list_batches(users, items, pairs, n))


def _table(found: ListBatch, names: pa.Array, titles: pa.Array, shared: Shared) -> pa.Table:
    unknown = pa.nulls(len(found.users), pa.float32())
    return pa.table(
        {
            USER: names.take(pa.array(found.users)),
            "rank": pa.array(found.ranks),
            ITEM: titles.take(pa.array(found.items)),
            "score": pa.array(found.estimates),
            "estimate": pa.array(shared.clipped(found.estimates)),
            "std": unknown if found.stds is None else pa.array(found.stds),
        }
    )


def _outputs(shared: Shared, side: Side, table: pa.Table) -> HeadOutput:
    return read(shared.chain, side, *from_bytes(table["row"], shared.width(side)))
