"""Ratings and pairs from Parquet or a table, checked before any work."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ByteType,
    DateType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from evichain.errors import DataError
from evichain.ratings.columns import ITEM, RATING, TIMESTAMP, USER, match, name_list, resolve
from evichain.ratings.side import Side
from evichain.spark.addresses import TABLE
from evichain.spark.faults import spark_explained

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_MOMENTS = (DateType, TimestampType, TimestampNTZType)


@dataclass(frozen=True)
class SparkRatings:
    """Ratings with columns user_id, item_id, rating and, if there is one, timestamp.

    Attributes:
        ratings: how many there are.
        users, items: how many there are, approximately.
    """

    frame: "DataFrame"
    ratings: int
    users: int
    items: int

    def id_type(self, side: Side) -> str:
        """The type of a side's ids: bigint or string."""
        return self.frame.schema[side.column].dataType.simpleString()


def read_source(spark: "SparkSession", address: str) -> SparkRatings:
    """The ratings at a path (a file or folder of Parquet) or in a table (`table:NAME`)."""
    frame = _read(spark, address)
    names = match(frame.columns, where=address)
    if {USER, ITEM} <= names.keys() and RATING not in names:
        raise DataError(
            f"no column for the rating among {name_list(frame.columns)}",
            where=address,
            right="Spark jobs take ratings: name the column rating (or value, score, stars). Of "
            "interactions, `evichain recommend --everyone` makes lists.",
        )
    names = resolve(frame.columns, where=address)
    columns = [_id(frame, names[column], address).alias(column) for column in (USER, ITEM)]
    columns.append(_number(frame, names[RATING], RATING, address).cast("float").alias(RATING))
    if TIMESTAMP in names:
        columns.append(_time(frame, names[TIMESTAMP], address).alias(TIMESTAMP))
    return _checked(frame.select(*columns), address)


def read_pairs(spark: "SparkSession", address: str) -> "DataFrame":
    """The distinct pairs (user_id, item_id) at a path or in a table."""
    frame = _read(spark, address)
    names = match(frame.columns, where=address, wanted=(USER, ITEM))
    missing = [column for column in (USER, ITEM) if column not in names]
    if missing:
        raise DataError(
            f"no column for {' or '.join(missing)} among {', '.join(map(repr, frame.columns))}",
            where=address,
            right="Name the columns user_id and item_id (or userId, movieId, …).",
        )
    ids = [_id(frame, names[column], address).alias(column) for column in (USER, ITEM)]
    return frame.select(*ids).dropna().distinct()


def _read(spark: "SparkSession", address: str) -> "DataFrame":
    with spark_explained(f"{address} cannot be read"):
        if address.startswith(TABLE):
            return spark.table(address.removeprefix(TABLE))
        return _read_parquet(spark, address)


def _read_parquet(spark: "SparkSession", address: str) -> "DataFrame":
    """Read Parquet files and ignore other files beside them.

    If no file name ends with .parquet, all files are read.
    """
    try:
        return spark.read.option("pathGlobFilter", "*.parquet").parquet(address)
    except AnalysisException:
        return spark.read.parquet(address)


def _id(frame: "DataFrame", name: str, address: str) -> "Column":
    kind, column = frame.schema[name].dataType, frame[f"`{name}`"]
    if isinstance(kind, _INTEGERS):
        return column.cast("long")
    if isinstance(kind, StringType):
        return column
    raise DataError(
        f"column {name!r} has type {kind.simpleString()}",
        where=address,
        right="Ids are integers or strings.",
    )


def _number(frame: "DataFrame", name: str, column: str, address: str) -> "Column":
    kind = frame.schema[name].dataType
    if not isinstance(kind, NumericType):
        raise DataError(
            f"column {name!r} has type {kind.simpleString()}",
            where=address,
            right=f"A {column} is a number.",
        )
    return frame[f"`{name}`"]


def _time(frame: "DataFrame", name: str, address: str) -> "Column":
    """A number that grows with time, in any unit. Missing times come first."""
    if isinstance(frame.schema[name].dataType, _MOMENTS):
        time = F.unix_micros(frame[f"`{name}`"].cast("timestamp"))
    else:
        time = _number(frame, name, TIMESTAMP, address).cast("long")
    return F.coalesce(time, F.lit(-(2**63)))


def _checked(frame: "DataFrame", address: str) -> SparkRatings:
    """Check all ratings in one pass."""
    rating = F.col(RATING)
    missing = F.col(USER).isNull() | F.col(ITEM).isNull()
    infinite = rating.isNull() | F.isnan(rating) | (F.abs(rating) == float("inf"))
    with spark_explained(f"{address} cannot be read"):
        found = frame.agg(
            F.count("*").alias("ratings"),
            F.count_if(missing).alias("missing"),
            F.count_if(infinite).alias("infinite"),
            F.approx_count_distinct(USER).alias("users"),
            F.approx_count_distinct(ITEM).alias("items"),
        ).first()
    assert found is not None
    if not found["ratings"]:
        raise DataError("no ratings in it", where=address, right="Each row is one rating.")
    if found["missing"]:
        raise DataError(
            f"{found['missing']:,} of {found['ratings']:,} ratings lack a user_id or an item_id",
            where=address,
            right="Leave them out.",
        )
    if found["infinite"]:
        raise DataError(
            f"{found['infinite']:,} of {found['ratings']:,} ratings are not finite numbers",
            where=address,
            right="A rating is a finite number, such as 4 or 3.5.",
        )
    return SparkRatings(frame, found["ratings"], found["users"], found["items"])
