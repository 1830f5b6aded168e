"""Embeddings of all entities: evidence in blocks, and one round of exchange for each depth.

Sides alternate with depth, so there are two series of rounds: one for users and one for items.
Each block is read once per round, and no embedding is generated twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import functions as F  # noqa: N812

from evichain.ratings.columns import TIMESTAMP
from evichain.ratings.side import Side
from evichain.spark.blocks import EntityBlock, block_schema
from evichain.spark.columns import as_bytes
from evichain.spark.faults import cleaning_up
from evichain.spark.links import OTHER, OWN, RATING, TIME, limit_links
from evichain.spark.shared import Shared
from evichain.spark.source import SparkRatings

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

RATINGS_A_BLOCK = 1 << 20
_RATINGS_AT_ONCE = 1 << 20
"""How many ratings a task limits together before it passes on what can be evidence."""

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Bulk:
    """A model over ratings that Spark holds.

    Attributes:
        blocks: how many blocks each side is cut into.
        evidence: the blocks of each side, kept on the executors' disks.
        kept: what else the executors keep until `close`.
    """

    source: SparkRatings
    shared: Shared
    sent: "Broadcast[Shared]"
    blocks: int
    evidence: "tuple[DataFrame, DataFrame]"
    kept: "list[DataFrame]" = field(default_factory=list)

    @classmethod
    def over(cls, source: SparkRatings, shared: Shared, *, blocks: int | None = None) -> "Bulk":
        """Divide the ratings into blocks (lazily, as always in Spark).

        Args:
            blocks: how many; by default one per million ratings, at least one per parallel task.
        """
        context = source.frame.sparkSession.sparkContext
        if blocks is None:
            blocks = max(context.defaultParallelism, -(-source.ratings // RATINGS_A_BLOCK))
        sent = context.broadcast(shared)
        user, item = (_evidence(source, sent, side, blocks) for side in Side)
        return cls(source, shared, sent, blocks, (user, item))

    def embeddings(self, side: Side, depth: int | None = None) -> "DataFrame":
        """`id` and `row` (the embedding's bytes, null where there is none) at a depth."""
        if depth is None:
            depth = self.shared.policy.request_depth(side)
        if depth >= self.shared.policy.max_depth - 1:
            return self._made(side, depth)
        below = self.embeddings(side.opposite, depth + 1).where(F.col("row").isNotNull())
        wanted = self._wanted(side, depth)
        # Neither table may be broadcast, even if Spark estimates that it is small.
        arrived = wanted.join(below.hint("merge"), "id").select("block", "position", "row")
        return self._made(side, depth, arrived)

    def close(self) -> None:
        """Release the storage on the executors."""
        with cleaning_up():
            for frame in (*self.evidence, *self.kept):
                frame.unpersist()
            self.sent.unpersist()

    def _wanted(self, side: Side, depth: int) -> "DataFrame":
        """Which embeddings go to which block, and their position there."""
        sent = self.sent

        def wanted(batches: Batches) -> Batches:
            for number, block in _blocks(batches):
                positions = pa.array(block.needed(sent.value.policy, side, depth))
                numbers = pa.array([number] * len(positions), pa.int32())
                yield pa.RecordBatch.from_arrays(
                    [numbers, positions, block.sources.take(positions)], ["block", "position", "id"]
                )

        schema = f"block int, position int, id {self.source.id_type(side.opposite)}"
        return self.evidence[side].mapInArrow(wanted, schema)

    def _made(self, side: Side, depth: int, arrived: "DataFrame | None" = None) -> "DataFrame":
        sent, schema = self.sent, f"id {self.source.id_type(side)}, row binary"

        def made(block: EntityBlock, rows: pa.Table | None) -> pa.Table:
            found = block.generated(sent.value, side, depth, rows)
            return pa.table({"id": block.ids, "row": as_bytes(found.rows, found.has_embedding)})

        def from_sent(left: pa.Table, right: pa.Table) -> pa.Table:
            # The right table is empty if nothing was sent; the left one always has the block.
            return made(EntityBlock.unpacked(left), right)

        def from_stored(batches: Batches) -> Batches:
            for _, block in _blocks(batches):
                yield from made(block, None).to_batches()

        blocks = self.evidence[side]
        if arrived is None:
            return blocks.mapInArrow(from_stored, schema)
        return (
            blocks.groupBy("block")
            .cogroup(arrived.groupBy("block"))
            .applyInArrow(from_sent, schema)
        )


def _evidence(
    source: SparkRatings, sent: "Broadcast[Shared]", side: Side, blocks: int
) -> "DataFrame":
    """The blocks of a side: limited part by part, then gathered and limited again."""
    own, other = (source.id_type(each) for each in (side, side.opposite))
    names = {side.column: OWN, side.opposite.column: OTHER, RATING: RATING, TIMESTAMP: TIME}
    named = [F.col(name).alias(names[name]) for name in names if name in source.frame.columns]
    schema = f"block int, {OWN} {own}, {OTHER} {other}, {RATING} float"
    if TIMESTAMP in source.frame.columns:
        schema += f", {TIME} bigint"

    def limited(batches: Batches) -> Batches:
        for table in _gathered(batches):
            links = limit_links(sent.value, side, table)
            numbers = (links.keys % blocks).astype("int32").repeat(links.ptr[1:] - links.ptr[:-1])
            kept = table.take(pa.array(links.positions))
            yield from kept.add_column(0, "block", pa.array(numbers)).to_batches()

    def built(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        return EntityBlock.build(sent.value, side, table).packed(key[0].as_py())

    return (
        source.frame.select(*named)
        .mapInArrow(limited, schema)
        .repartition(blocks, "block")
        .groupBy("block")
        .applyInArrow(built, block_schema(own, other))
        # Again, so that Spark knows the partitioning and no round moves the blocks.
        .repartition(blocks, "block")
        .persist(StorageLevel.DISK_ONLY)
    )


def _gathered(batches: Batches) -> Iterator[pa.Table]:
    """Batches merged into larger tables, so that fewer links are passed on."""
    parts: list[pa.RecordBatch] = []
    for batch in batches:
        parts.append(batch)
        if sum(part.num_rows for part in parts) >= _RATINGS_AT_ONCE:
            yield pa.Table.from_batches(parts)
            parts = []
    if parts:
        yield pa.Table.from_batches(parts)


def _blocks(batches: Batches) -> Iterator[tuple[int, EntityBlock]]:
    for batch in batches:
        for position in range(batch.num_rows):
            row = batch.slice(position, 1)
            yield row.column("block")[0].as_py(), EntityBlock.unpacked(row)
