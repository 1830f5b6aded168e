"""The log of changes: the kinds of its rows, and what they mean."""

from typing import Any

from evichain.service.store.packing import unpack
from evichain.service.store.records import Change, Erased, Rated, Titled, Unrated

RATED, UNRATED, ERASED, TITLED = "rated", "unrated", "erased", "titled"

NO_ID = (None, None)
"""The columns of the side that a change does not speak of."""

KEPT = 1_000_000
"""Versions that the log reaches back, if nobody trims it earlier."""

SLACK = 10_000
"""Versions more than that before it is trimmed: each time a little."""


def change(row: tuple[Any, ...]) -> Change:
    """A row of the log as what happened."""
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
