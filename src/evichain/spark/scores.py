"""Predictions for (user, item) pairs, in blocks of pairs to which embeddings are sent.

Pairs are distributed over blocks by hash. So a popular item is in all blocks, and tasks have equal
work.
"""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from evichain.answering.answers import obstacle
from evichain.kernels import Ints
from evichain.model.inference import HeadOutput, read
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
    users, items = ends
    estimates = np.einsum("ij,ij->i", users.vectors[positions[0]], items.vectors[positions[1]])
    answerable = users.answerable[positions[0]] & items.answerable[positions[1]]
    estimates = shared.clipped(
        np.where(answerable, estimates, chain.mean.item()).astype(np.float32)
    )
    stds = pa.nulls(len(answerable), pa.float32())
    if users.log_stds is not None and items.log_stds is not None:
        stds = pa.array(np.exp(users.log_stds[positions[0]] + items.log_stds[positions[1]]))
    return pa.table(
        {
            USER: pairs[USER],
            ITEM: pairs[ITEM],
            "estimate": pa.array(estimates),
            "std": stds,
            "reason": pa.array(_reasons(shared, pairs, ends, positions), pa.string()),
        }
    )


def _reasons(
    shared: Shared, pairs: pa.Table, ends: list[HeadOutput], positions: list[Ints]
) -> list[str | None]:
    has_embedding = [ends[side].has_embedding[positions[side]] for side in Side]
    found: list[str | None] = [None] * pairs.num_rows
    for row in np.flatnonzero(~(has_embedding[0] & has_embedding[1])).tolist():
        found[row] = "; ".join(
            obstacle(
                side,
                pairs[side.column][row].as_py(),
                known=bool(positions[side][row] >= 0),
                max_depth=shared.policy.max_depth,
            )
            for side in Side
            if not has_embedding[side][row]
        )
    return found
