"""Checks of everything that is written to a store, the same for every database."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evichain.errors import DataError
from evichain.ratings.side import Side
from evichain.service.store.records import Rating

if TYPE_CHECKING:
    from evichain.ratings.ids import Id

LONGEST_ID = 256
"""Characters of an id: two ids, at four bytes per character, must fit into a PostgreSQL key."""

LONGEST_TITLE = 2_000
"""Characters of a title."""

LARGEST_BATCH = 10_000
"""Ratings, pairs or titles in one call; an import takes any number."""

SMALLEST, LARGEST = -(2**63), 2**63 - 1
"""The integers of 64 bits."""

Given = TypeVar("Given")

_SHOWN_LENGTH = 40


def checked_id(value: object, side: Side, where: str = "") -> "Id":
    """An id as it is stored: a 64-bit integer or text."""
    if isinstance(value, str):
        return _text(value, side.column, LONGEST_ID, where)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if SMALLEST <= value <= LARGEST:
            return int(value)
        raise DataError(
            f"{side.column} {shown(value)} has more than 64 bits",
            where=where,
            right="Give larger numbers as text.",
        )
    raise DataError(
        f"{side.column} {shown(value)} is not an id", where=where, right="Ids are text or integers."
    )


def checked_rating(value: object, where: str = "") -> float:
    """A rating as it is stored: the shortest number that has the same 32-bit value.

    Computations use 32 bits. Stored in this form, 3.7 is read back as 3.7.

    >>> checked_rating(np.float32(3.7))
    3.7
    """
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            with np.errstate(over="ignore"):
                single = np.float32(value)
        except OverflowError:  # an integer too large for a float
            single = np.float32(math.inf)
        if np.isfinite(single):
            return float(str(single)) + 0.0  # 0.0 for -0.0
    raise DataError(
        f"rating {shown(value)} is not a finite number",
        where=where,
        right="A rating is a finite number, such as 4 or 3.5.",
    )


def checked_time(value: object, where: str = "") -> int | None:
    """Seconds since 1970, or None."""
    if value is None:
        return None
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if whole and SMALLEST <= value <= LARGEST:  # type: ignore[operator]
        return int(value)  # type: ignore[call-overload, no-any-return]
    raise DataError(
        f"timestamp {shown(value)} is not a time",
        where=where,
        right="It is a whole number of seconds since 1970; or leave it out.",
    )


def checked_title(value: object, where: str = "") -> str | None:
    """A title, or None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise DataError(f"title {shown(value)} is not text", where=where, right="A title is text.")
    return _text(value, "title", LONGEST_TITLE, where)


def checked_ratings(changes: Iterable[Sequence[Any]]) -> list[Rating]:
    """Ratings to add, each pair once: the latest by time, without times the last one."""
    latest: dict[tuple[Id, Id], Rating] = {}
    for number, change in enumerate(_bounded(changes, "ratings"), start=1):
        where = f"rating {number}"
        try:
            user, item, rating, *rest = change
            (timestamp,) = rest or (None,)
        except (TypeError, ValueError):
            raise DataError(
                f"{shown(change)} is not a rating",
                where=where,
                right="Give (user_id, item_id, rating) or these and a timestamp.",
            ) from None
        row = Rating(
            checked_id(user, Side.USER, where),
            checked_id(item, Side.ITEM, where),
            checked_rating(rating, where),
            checked_time(timestamp, where),
        )
        pair = (row.user, row.item)
        if pair not in latest or _is_later(row, latest[pair]):
            # Removed first, so that the order is that of the rows that are kept.
            latest.pop(pair, None)
            latest[pair] = row
    return list(latest.values())


def checked_pairs(pairs: Iterable[Sequence[Any]]) -> "list[tuple[Id, Id]]":
    """(user, item) pairs, each once."""
    found: dict[tuple[Id, Id], None] = {}
    for number, pair in enumerate(_bounded(pairs, "pairs"), start=1):
        where = f"pair {number}"
        try:
            user, item = pair
        except (TypeError, ValueError):
            right = "Give (user_id, item_id)."
            raise DataError(f"{shown(pair)} is not a pair", where=where, right=right) from None
        found[checked_id(user, Side.USER, where), checked_id(item, Side.ITEM, where)] = None
    return list(found)


def checked_titles(titles: Mapping[Any, str | None]) -> "list[tuple[Id, str | None]]":
    """(item, title) pairs."""
    if not isinstance(titles, Mapping):
        raise DataError(
            f"{shown(titles)} is not a mapping of items to titles", right="Give {item_id: title}."
        )
    named = ((item, f"item {shown(item)}", title) for item, title in titles.items())
    return [
        (checked_id(item, Side.ITEM, where), checked_title(title, where))
        for item, where, title in _bounded(named, "titles")
    ]


def checked_count(value: object, name: str, least: int, most: int) -> int:
    """A whole number within bounds."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    right = f"It is a whole number from {least:,} to {most:,}."
    raise DataError(f"{name} {shown(value)}", right=right)


def shown(value: object) -> str:
    """A value as shown in a message, shortened."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"of {value.bit_length()} bits"
    shown = repr(value[: _SHOWN_LENGTH + 1] if isinstance(value, str) else value)
    return shown if len(shown) <= _SHOWN_LENGTH else f"{shown[: _SHOWN_LENGTH - 1]}…"


def _text(value: str, name: str, longest: int, where: str) -> str:
    if not value:
        raise DataError(f"{name} is empty", where=where, right="Give at least one character.")
    if len(value) > longest:
        raise DataError(
            f"{name} {shown(value)} has {len(value):,} characters",
            where=where,
            right=f"At most {longest:,} are kept.",
        )
    if "\0" in value:
        raise DataError(
            f"{name} {shown(value)} has a NUL character", where=where, right="Leave it out."
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{name} {shown(value)} is not valid Unicode (it has half of a surrogate pair)",
            where=where,
            right="Give text that can be written as UTF-8.",
        ) from None
    return str(value)


def _is_later(row: Rating, before: Rating) -> bool:
    """Whether a rating replaces an earlier one of the list: unless its timestamp is lower."""
    if row.timestamp is None or before.timestamp is None:
        return True
    return row.timestamp >= before.timestamp


def _bounded(values: Iterable[Given], name: str) -> list[Given]:
    found: list[Given] = []
    try:
        for value in values:
            if len(found) == LARGEST_BATCH:
                raise DataError(
                    f"more than {LARGEST_BATCH:,} {name} at once",
                    right="Give them in parts, or import them.",
                )
            found.append(value)
    except TypeError:
        raise DataError(
            f"{shown(values)} is not a list of {name}", right=f"Give a list of {name}."
        ) from None
    return found
