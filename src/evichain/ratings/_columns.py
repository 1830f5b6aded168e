"""Which column of a table is the user, the item, the rating and the time, whatever it is called."""

from collections.abc import Iterable

from evichain.errors import DataError

USER, ITEM, RATING, TIMESTAMP = "user_id", "item_id", "rating", "timestamp"
COLUMNS = (USER, ITEM, RATING, TIMESTAMP)
"""The columns of a ratings table, in the order a file without a header has them."""

# Spellings without case and underscores, the best known first: it wins when a table has several.
ALIASES: dict[str, tuple[str, ...]] = {
    USER: ("userid", "user", "uid", "reviewerid", "customerid", "customer"),
    ITEM: (
        "itemid",
        "item",
        "iid",
        "movieid",
        "movie",
        "filmid",
        "film",
        "productid",
        "product",
        "asin",
        "bookid",
        "book",
        "isbn",
        "songid",
        "trackid",
        "artistid",
        "businessid",
    ),
    RATING: ("rating", "value", "score", "stars", "star", "overall", "ratings", "bookrating"),
    TIMESTAMP: ("timestamp", "time", "date", "datetime", "unixreviewtime", "ratedat", "createdat"),
}
# What a message offers; the whole list above would drown it.
_OFFERED = {
    USER: "user_id (or user, userId, uid)",
    ITEM: "item_id (or item, movieId, product)",
    RATING: "rating (or value, score, stars)",
}


def plain(name: str) -> str:
    """A column's name without case, underscores, quotes, blanks or a RecBole type.

    >>> plain("user_id:token"), plain(" UserId "), plain("Book-Rating")
    ('userid', 'userid', 'bookrating')
    """
    name = name.partition(":")[0].strip().strip("\"'").lower()
    return name.replace("_", "").replace("-", "").replace(" ", "")


def resolve(names: Iterable[str], *, where: str) -> dict[str, str]:
    """Map the columns of a ratings table to the names they have here.

    >>> resolve(["userId", "movieId", "Value", "genre"], where="a.csv")
    {'user_id': 'userId', 'item_id': 'movieId', 'rating': 'Value'}
    """
    names = list(names)
    found = match(names)
    missing = [column for column in _OFFERED if column not in found]
    if missing:
        raise DataError(
            f"no column for {' or '.join(missing)} among {_listed(names)}",
            where=where,
            right=f"Name them {', '.join(_OFFERED[column] for column in missing)}; timestamp "
            "is optional. Without a header, 3 or 4 columns are taken in that order.",
        )
    return found


def match(names: Iterable[str]) -> dict[str, str]:
    """The columns of a ratings table that are there, under the names they have here."""
    by_plain: dict[str, str] = {}
    for name in names:
        by_plain.setdefault(plain(name), name)
    found = {}
    for column, aliases in ALIASES.items():
        known = [by_plain[alias] for alias in aliases if alias in by_plain]
        if known:
            found[column] = known[0]
    return found


def _listed(names: list[str]) -> str:
    short = [repr(name if len(name) <= 30 else f"{name[:29]}…") for name in names[:8]]
    return ", ".join(short) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
