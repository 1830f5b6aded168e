"""Ids as two columns, and tables of ratings in the columns of a store.

A database column has one type, and an id is an integer or text. So it is stored as (text, number):
an integer as ('', number), text as (text, 0). Keys then sort integers first, by value, then text
by its UTF-8 bytes, both in SQLite and in PostgreSQL.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from evichain.errors import DataError
from evichain.ratings import Ratings, Side
from evichain.service.store.checks import LONGEST_ID, LONGEST_TITLE, shown

if TYPE_CHECKING:
    from evichain.ratings.ids import Id

PACKED = {
    "user_text": pl.String,
    "user_number": pl.Int64,
    "item_text": pl.String,
    "item_number": pl.Int64,
    "rating": pl.Float64,
    "timestamp": pl.Int64,
    "version": pl.Int64,
}
"""The columns of the ratings in a store, in order."""

PACKED_TITLES = {"item_text": pl.String, "item_number": pl.Int64, "title": pl.String}
"""The columns of the titles in a store."""


def pack(identifier: "Id") -> tuple[str, int]:
    """An id as two columns.

    >>> pack(7), pack("7")
    (('', 7), ('7', 0))
    """
    return (identifier, 0) if isinstance(identifier, str) else ("", identifier)


def unpack(text: str, number: int) -> "Id":
    """The id in two columns."""
    return text or number


def check_ratings(ratings: Ratings) -> None:
    """Refuse a table that a store cannot hold, before anything is written."""
    if ratings.interactions:
        raise DataError(
            "these are interactions, and a store holds ratings",
            where=ratings.name,
            right="Give a table with a column of ratings, or name it: --columns rating=NAME.",
        )
    pack_titles(ratings)
    for side in Side:
        _check_text(ratings.frame[side.column], side.column, LONGEST_ID, ratings.name)
    if not ratings.frame["rating"].is_finite().fill_null(False).all():
        right = "A rating is a finite number, such as 4 or 3.5."
        raise DataError("a rating is not a finite number", where=ratings.name, right=right)


def pack_ratings(ratings: Ratings, slice_size: int) -> Iterator[pl.DataFrame]:
    """A table in the columns of a store, slice by slice; `version` is the row's number, from 1.

    In key order, because appending to a B-tree is fast. Sorted before the transaction begins, so
    that other writers do not wait for it.
    """
    frame = ratings.frame
    order = frame.select(pl.arg_sort_by(*(side.column for side in Side))).to_series()
    time = pl.col("timestamp") if "timestamp" in frame.columns else pl.lit(None)

    def slices() -> Iterator[pl.DataFrame]:
        for start in range(0, len(order), slice_size):
            rows = order[start : start + slice_size]
            part = frame[rows]
            yield part.select(
                *_pack_column(part, Side.USER),
                *_pack_column(part, Side.ITEM),
                shortest(part["rating"]).alias("rating"),
                time.cast(pl.Int64).alias("timestamp"),
                (rows.cast(pl.Int64) + 1).alias("version"),
            )

    return slices()


def pack_titles(ratings: Ratings) -> pl.DataFrame:
    """The titles of a table in the columns of a store, without empty ones."""
    if ratings.titles is None:
        return pl.DataFrame(schema=PACKED_TITLES)
    titles = ratings.titles.filter(pl.col("title") != "")
    _check_text(titles["item_id"], "item_id", LONGEST_ID, f"titles of {ratings.name}")
    _check_text(titles["title"], "title", LONGEST_TITLE, f"titles of {ratings.name}")
    return titles.select(*_pack_column(titles, Side.ITEM), "title").unique(
        ["item_text", "item_number"], keep="last", maintain_order=True
    )


def unpack_titles(titles: pl.DataFrame) -> "list[tuple[Id, str]]":
    """The titles in such a table."""
    return [(unpack(text, number), title) for text, number, title in titles.iter_rows()]


def _pack_column(frame: pl.DataFrame, side: Side) -> tuple[pl.Expr, pl.Expr]:
    """The two columns of a side's ids."""
    is_text = frame.schema[side.column] == pl.String
    text = pl.col(side.column) if is_text else pl.lit("", pl.String)
    number = pl.lit(0, pl.Int64) if is_text else pl.col(side.column)
    return text.alias(f"{side.noun}_text"), number.alias(f"{side.noun}_number")


def shortest(ratings: pl.Series) -> pl.Series:
    """As `checked_rating`: each 32-bit number as its shortest decimal."""
    return ratings.cast(pl.Float32).cast(pl.String).cast(pl.Float64) + 0.0


def _check_text(column: pl.Series, name: str, longest: int, where: str) -> None:
    """The checks of `checks.py` for a whole column."""
    if column.dtype == pl.Int64 and not column.null_count():
        return
    if column.dtype != pl.String or column.null_count():
        right = "Ids are text or 64-bit integers, and none is missing."
        raise DataError(
            f"{name} has ids of several types or missing ones", where=where, right=right
        )
    for bad, what, right in (
        (column == "", "is empty", "Give at least one character."),
        (column.str.contains("\0", literal=True), "has a NUL character", "Leave it out."),
        (
            column.str.len_chars() > longest,
            "is too long",
            f"At most {longest:,} characters are kept.",
        ),
    ):
        if bad.any():
            value = shown(column.filter(bad)[0])
            raise DataError(f"{name} {value} {what}", where=where, right=right)
