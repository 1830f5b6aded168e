"""The SQL of both databases; `?` stands for a value.

All input is passed as values. Only names of columns and tables are formatted into the text.
"""

from collections.abc import Callable
from typing import Literal

from evichain.ratings.side import Side

Query = Callable[[int], str]
"""The statement for a number of keys."""

KEY = "user_text, user_number, item_text, item_number"
_COLUMNS = f"{KEY}, rating, timestamp"


def _id(side: Side) -> str:
    return f"{side.noun}_text, {side.noun}_number"


def _is(side: Side) -> str:
    return f"{side.noun}_text = ? AND {side.noun}_number = ?"


ADVANCE = "UPDATE evichain_state SET version = version + ? RETURNING version, floor"
VERSION = "SELECT version FROM evichain_state"

# One statement, so that the log and its bounds are consistent.
CHANGES = (
    "SELECT s.version, s.floor, c.version, c.kind, c.user_text, c.user_number, c.item_text, "
    "c.item_number, c.rating, c.timestamp, c.title FROM evichain_state s LEFT JOIN "
    "(SELECT * FROM evichain_changes WHERE version > ? ORDER BY version LIMIT ?) c ON 1 = 1 "
    "ORDER BY c.version"
)
LOG = (
    f"INSERT INTO evichain_changes (version, kind, {_COLUMNS}, title) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
TRIM = "DELETE FROM evichain_changes WHERE version < ?"
RAISE_FLOOR = "UPDATE evichain_state SET floor = ? WHERE floor < ?"

IN_PLACE = (
    f"ON CONFLICT ({KEY}) DO UPDATE SET rating = excluded.rating, "
    "timestamp = excluded.timestamp, version = excluded.version"
)
PUT = f"INSERT INTO evichain_ratings ({_COLUMNS}, version) VALUES (?, ?, ?, ?, ?, ?, ?) {IN_PLACE}"
DELETE = f"DELETE FROM evichain_ratings WHERE {_is(Side.USER)} AND {_is(Side.ITEM)}"
ERASE_RATINGS = f"DELETE FROM evichain_ratings WHERE {_is(Side.USER)}"
ERASE_CHANGES = f"DELETE FROM evichain_changes WHERE {_is(Side.USER)}"
PUT_TITLE = (
    "INSERT INTO evichain_titles (item_text, item_number, title) VALUES (?, ?, ?) "
    "ON CONFLICT (item_text, item_number) DO UPDATE SET title = excluded.title"
)
DELETE_TITLE = f"DELETE FROM evichain_titles WHERE {_is(Side.ITEM)}"

TITLES = "SELECT item_text, item_number, title FROM evichain_titles"
COUNT = "SELECT count(*) FROM evichain_ratings"
COUNTS = (
    "SELECT (SELECT count(*) FROM evichain_ratings), "
    f"(SELECT count(*) FROM (SELECT DISTINCT {_id(Side.USER)} FROM evichain_ratings) u), "
    f"(SELECT count(*) FROM (SELECT DISTINCT {_id(Side.ITEM)} FROM evichain_ratings) i), "
    "(SELECT count(*) FROM evichain_titles)"
)
PACKED = f"SELECT {_COLUMNS}, version FROM evichain_ratings"

ITEM_INDEX = "evichain_ratings_item"
DROP_ITEM_INDEX = f"DROP INDEX {ITEM_INDEX}"
CREATE_ITEM_INDEX = (
    f"CREATE INDEX {ITEM_INDEX} ON evichain_ratings ({_id(Side.ITEM)}, {_id(Side.USER)})"
)

KEYS_PER_QUERY = 500
"""The largest number of keys in one query."""


def known_ratings(count: int) -> str:
    """The ratings of `count` pairs."""
    given = ", ".join(["(?, ?, ?, ?)"] * count)
    return (
        f"WITH given ({KEY}) AS (VALUES {given}) "
        f"SELECT {_COLUMNS} FROM given JOIN evichain_ratings USING ({KEY})"
    )


def known_titles(count: int) -> str:
    """The titles of `count` items."""
    key, given = _id(Side.ITEM), ", ".join(["(?, ?)"] * count)
    return (
        f"WITH given ({key}) AS (VALUES {given}) "
        f"SELECT {key}, title FROM given JOIN evichain_titles USING ({key})"
    )


def known_ids(side: Side, table: Literal["ratings", "titles"]) -> Query:
    """Which ids are in a table."""
    key = _id(side)
    text, number = (f"there.{name} = given.{name}" for name in key.split(", "))

    def query(count: int) -> str:
        given = ", ".join(["(?, ?)"] * count)
        return (
            f"WITH given ({key}) AS (VALUES {given}) SELECT {key} FROM given WHERE EXISTS "
            f"(SELECT 1 FROM evichain_{table} there WHERE {text} AND {number})"
        )

    return query


def history(side: Side) -> str:
    """The ratings of one entity, by time; those without a time first, as they were added."""
    return (
        f"SELECT {_COLUMNS} FROM evichain_ratings WHERE {_is(side)} "
        "ORDER BY timestamp IS NOT NULL, timestamp, version"
    )


def page(side: Side | None, *, after: bool) -> str:
    """A page of all ratings, or of those of one entity, ordered by id."""
    order = KEY if side is None else _id(side.opposite)
    conditions = [] if side is None else [_is(side)]
    if after:
        conditions.append(f"({order}) > ({', '.join('?' * len(order.split(',')))})")
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    return f"SELECT {_COLUMNS} FROM evichain_ratings {where}ORDER BY {order} LIMIT ?"


def id_types_of(side: Side) -> str:
    """Whether a side has integer ids, and whether it has text."""
    some = "EXISTS (SELECT 1 FROM evichain_ratings WHERE {}_text {} '')"
    return f"SELECT {some.format(side.noun, '=')}, {some.format(side.noun, '>')}"


def twins(side: Side) -> str:
    """An integer id that also exists as text."""
    number = f"CAST(numbers.{side.noun}_number AS TEXT)"
    return (
        f"SELECT {side.noun}_number FROM ({integers(side)}) numbers WHERE EXISTS "
        f"(SELECT 1 FROM evichain_ratings texts WHERE texts.{side.noun}_text = {number}) LIMIT 1"
    )


def integers(side: Side) -> str:
    """The ids of a side that are integers."""
    return f"SELECT DISTINCT {side.noun}_number FROM evichain_ratings WHERE {side.noun}_text = ''"


def texts(side: Side) -> str:
    """The ids of a side that are text."""
    return f"SELECT DISTINCT {side.noun}_text FROM evichain_ratings WHERE {side.noun}_text > ''"


def scan(types_found: dict[Side, tuple[bool, bool]], *, in_order: bool) -> str:
    """All ratings, each id in one column."""
    ids = ", ".join(_as_one(side, *types_found[side]) for side in Side)
    order = " ORDER BY version" if in_order else ""
    return f"SELECT {ids}, rating, timestamp FROM evichain_ratings{order}"


def _as_one(side: Side, integers: bool, texts: bool) -> str:
    text, number = f"{side.noun}_text", f"{side.noun}_number"
    if not texts:
        return number
    if not integers:
        return text
    return f"CASE WHEN {text} = '' THEN CAST({number} AS TEXT) ELSE {text} END"
