"""Persistent ratings and titles: one interface to SQLite and PostgreSQL, chosen by URL.

>>> import tempfile
>>> from evichain.ratings import Side
>>> with tempfile.TemporaryDirectory() as folder, open_store(f"{folder}/ratings.db") as store:
...     store.put([("ann", 7, 4.5), ("bob", 7, 3)])
...     store.ratings_of(Side.USER, "bob")
Written(new=2, changed=0, unchanged=0)
[Rating(user='bob', item=7, rating=3.0, timestamp=None)]
"""

from pathlib import Path

from evichain.service.store.address import SqliteAddress, is_url, parse
from evichain.service.store.base import Store
from evichain.service.store.checks import LARGEST_BATCH, LONGEST_ID, LONGEST_TITLE
from evichain.service.store.packing import check_ratings
from evichain.service.store.records import (
    Change,
    Changes,
    Counts,
    Erased,
    Exported,
    Page,
    Rated,
    Rating,
    Titled,
    Unrated,
    Written,
)
from evichain.service.store.store_snapshot import StoreSnapshot

__all__ = [
    "LARGEST_BATCH",
    "LONGEST_ID",
    "LONGEST_TITLE",
    "Change",
    "Changes",
    "Counts",
    "Erased",
    "Exported",
    "Page",
    "Rated",
    "Rating",
    "Store",
    "StoreSnapshot",
    "Titled",
    "Unrated",
    "Written",
    "check_ratings",
    "is_url",
    "open_store",
    "parse",
]


def open_store(url: str | Path, *, create: bool = True) -> Store:
    """Open the store at an address.

    Args:
        url: `sqlite:///ratings.db` (four slashes before an absolute path), a bare
            path, or `postgresql://user:password@host:port/database` with the
            parameters of libpq; passwords can be in `PGPASSWORD` or `.pgpass`.
        create: make the tables, and the file, if they do not exist.

    Raises:
        StoreError: the address is invalid, or something else is there.
        StoreUnavailableError: it cannot be reached.
    """
    address = parse(url)
    # A database is imported when it is used: psycopg may not be installed.
    if isinstance(address, SqliteAddress):
        from evichain.service.store.sqlite import SqliteStore

        return SqliteStore(address, create=create)
    from evichain.service.store.postgres import PostgresStore

    return PostgresStore(address, create=create)
