"""Predictions for (user, item) pairs, in blocks of pairs to which embeddings are sent.

Pairs are distributed over blocks by hash. So a popular item is in all blocks, and tasks have equal
work.
"""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from evichain.answering.answers import obstacles
from evichain.model.inference import paired, read
from evichain.ratings.columns import ITEM, USER
from evichain.ratings.side import Side
from evichain.spark.columns import from_bytes, positions_among, whole
from evichain.spark.rounds import Bulk
from evichain.spark.shared import Shared

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PAIRS_A_BLOCK = 1 << 20


def scores(bulk: Bulk, pairs: "DataFrame") -> "DataFrame":
    """Pairs with `estimate`, `std` and the `reason` if there is no chain of evidence.

    Args:
        pairs: user_id and item_id, each pair once.
    """
    asked = pairs.persist()
    bulk.kept.append(asked)
    count = asked.count()
    context = pairs.sparkSession.sparkContext
    blocks = max(context.defaultParallelism, -(-count // _PAIRS_A_BLOCK))
    block = F.pmod(F.hash(USER, ITEM), F.lit(blocks)).cast("int")
    asked = asked.withColumn("block", block)
    arrived = [_arriving(bulk, asked, side) for side in Side]
    sent = bulk.sent

    def scored(left: pa.Table, right: pa.Table) -> pa.Table:
        return _scored(sent.value, left, right)

    types = {each: asked.schema[each].dataType.simpleString() for each in (USER, ITEM)}
    schema = f"{USER} {types[USER]}, {ITEM} {types[ITEM]}, "
    return (
        asked.groupBy("block")
        .cogroup(arrived[0].unionByName(arrived[1]).groupBy("block"))
        .applyInArrow(scored, schema + "estimate float, std float, reason string")
    )


def _arriving(bulk: Bulk, asked: "DataFrame", side: Side) -> "DataFrame":
    """The embeddings of a side, for each block that needs them."""
    kind = asked.schema[side.column].dataType
    # 7 and "7" are the same entity: if the types differ, ids are compared as text.
    same = kind.simpleString() == bulk.source.id_type(side)
    wanted = asked.select(
        "block", F.col(side.column).cast("string" if not same else kind).alias("id")
    ).distinct()
    made = bulk.embeddings(side)
    made = made if same else made.withColumn("id", F.col("id").cast("string"))
    other = asked.schema[side.opposite.column].dataType
    found = wanted.join(made.hint("merge"), "id")
    return found.select(
        # With an alias, or Spark confuses it with the column it comes from.
        F.col("block").alias("block"),
        F.col("id").cast(kind).alias(side.column),
        F.lit(None).cast(other).alias(side.opposite.column),
        "row",
    )


def _scored(shared: Shared, pairs: pa.Table, sent: pa.Table) -> pa.Table:
    chain = shared.chain
    ends, positions = [], []
    for side in Side:
        mine = sent.filter(pc.is_valid(sent[side.column]))
        position = positions_among(pairs[side.column], whole(mine[side.column]))
        rows, has_embedding = from_bytes(mine["row"], shared.width(side))
        # The last row stands for all entities without ratings.
        ends.append(
            read(chain, side, np.pad(rows, ((0, 1), (0, 0))), np.append(has_embedding, np.False_))
        )
        positions.append(position)
    estimates, stds = paired(chain, shared.scale, ends, positions)
    reasons = obstacles(
        ends,
        positions,
        [position >= 0 for position in positions],
        lambda side, row: pairs[side.column][row].as_py(),
        shared.policy.max_depth,
    )
    return pa.table(
        {
            USER: pairs[USER],
            ITEM: pairs[ITEM],
            "estimate": pa.array(estimates),
            "std": pa.nulls(len(estimates), pa.float32()) if stds is None else pa.array(stds),
            "reason": pa.array(reasons, pa.string()),
        }
    )
