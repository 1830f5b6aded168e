"""Which column of a table is the user, the item, the rating and the time, whatever it is called."""

from collections.abc import Collection, Iterable

from evichain.errors import DataError

USER, ITEM, RATING, TIMESTAMP = "user_id", "item_id", "rating", "timestamp"
COLUMNS = (USER, ITEM, RATING, TIMESTAMP)
"""The columns of a ratings table, in the order a file without a header has them."""

# Spellings without case and underscores, the name it has here first: that one wins over others.
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
    found = match(names, where=where)
    missing = [column for column in _OFFERED if column not in found]
    if missing:
        raise DataError(
            f"no column for {' or '.join(missing)} among {_listed(names)}",
            where=where,
            right=f"Name them {', '.join(_OFFERED[column] for column in missing)}; timestamp "
            "is optional. Without a header, 3 or 4 columns are taken in that order.",
        )
    return found


def match(names: Iterable[str], *, where: str, wanted: Collection[str] = COLUMNS) -> dict[str, str]:
    """The wanted columns of a ratings table that are there, under the names they have here.

    Raises:
        DataError: several could be one, and not just one of them has its very name.

    >>> match(["user", "user_id", "asin"], where="a.csv")
    {'user_id': 'user_id', 'item_id': 'asin'}
    """
    found = {}
    for column, known in candidates(names).items():
        if column not in wanted:
            continue
        own = [name for name in known if plain(name) == ALIASES[column][0]]
        if len(known) > 1 and len(own) != 1:
            raise DataError(
                f"each of {_listed(known)} could be the {column}",
                where=where,
                right=f"Keep one of them, or call only that one {column}.",
            )
        found[column] = known[0]
    return found


def candidates(names: Iterable[str]) -> dict[str, list[str]]:
    """For each column of a ratings table those that it could be, the best known first.

    >>> candidates(["user", "userId", "genre"])
    {'user_id': ['userId', 'user']}
    """
    by_plain: dict[str, list[str]] = {}
    for name in names:
        by_plain.setdefault(plain(name), []).append(name)
    found = {
        column: [name for alias in aliases for name in by_plain.get(alias, ())]
        for column, aliases in ALIASES.items()
    }
    return {column: known for column, known in found.items() if known}


def _listed(names: list[str]) -> str:
    short = [repr(name if len(name) <= 30 else f"{name[:29]}…") for name in names[:8]]
    return ", ".join(short) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
