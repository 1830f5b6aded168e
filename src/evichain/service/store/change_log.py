"""The log of changes: its constants, and how a row is read."""

from typing import Any

from evichain.service.store.packing import unpack
from evichain.service.store.records import Change, Erased, Rated, Titled, Unrated

RATED, UNRATED, ERASED, TITLED = "rated", "unrated", "erased", "titled"

NO_ID = (None, None)
"""The id columns of the side that a change is not about."""

KEPT = 1_000_000
"""Versions that the log keeps, unless it is trimmed earlier."""

SLACK = 10_000
"""Versions beyond that before it is trimmed, so that it is not trimmed at every write."""


def change(row: tuple[Any, ...]) -> Change:
    """The change in a row of the log."""
    version, kind, user_text, user_number, item_text, item_number, rating, timestamp, title = row
    if kind == TITLED:
        return Titled(version, unpack(item_text, item_number), title)
    user = unpack(user_text, user_number)
    if kind == ERASED:
        return Erased(version, user)
    item = unpack(item_text, item_number)
    if kind == UNRATED:
        return Unrated(version, user, item)
    return Rated(version, user, item, rating, timestamp)
