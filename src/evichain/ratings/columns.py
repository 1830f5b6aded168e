"""Which column of a table holds the user, the item, the rating or weight, and the time, by name."""

from collections.abc import Collection, Iterable, Mapping

from evichain.errors import DataError

USER, ITEM, RATING, TIMESTAMP = "user_id", "item_id", "rating", "timestamp"
WEIGHT, EVENT, TITLE = "weight", "event", "title"
COLUMNS = (USER, ITEM, RATING, TIMESTAMP)
"""The columns of a ratings table, in the order a file without a header has them."""
REQUIRED = (USER, ITEM, RATING)
PAIR = (USER, ITEM)
"""The columns that a table of pairs or of interactions must have."""

# Lower case, without underscores. The first spelling of each column wins over the others.
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
    WEIGHT: (
        "weight",
        "count",
        "quantity",
        "plays",
        "weights",
        "counts",
        "qty",
        "playcount",
        "listencount",
        "frequency",
    ),
    EVENT: ("event", "eventtype", "type", "action", "behavior", "behaviour", "interactiontype"),
    TITLE: ("title", "movietitle", "itemtitle", "itemname", "productname", "booktitle"),
}
# Error messages suggest these; the whole list above would be too long.
_SUGGESTED = {
    USER: "user_id (or user, userId, uid)",
    ITEM: "item_id (or item, movieId, product)",
    RATING: "rating (or value, score, stars)",
}
_SHORT = {"user": USER, "item": ITEM, "count": WEIGHT, "event_type": EVENT}


def normalized(name: str) -> str:
    """A column's name without case, underscores, quotes, blanks or a RecBole type.

    >>> normalized("user_id:token"), normalized(" UserId "), normalized("Book-Rating")
    ('userid', 'userid', 'bookrating')
    """
    name = name.partition(":")[0].strip().strip("\"'").lower()
    return name.replace("_", "").replace("-", "").replace(" ", "")


def named_columns(columns: Mapping[str, str] | None) -> dict[str, str]:
    """The columns that a user names, by their names in a ratings table.

    >>> named_columns({"user": "customer_no", "rating": "points"})
    {'user_id': 'customer_no', 'rating': 'points'}
    """
    found = {_SHORT.get(column, column): name for column, name in (columns or {}).items()}
    unknown = [column for column in found if column not in ALIASES]
    if unknown:
        raise DataError(
            f"a ratings table has no column {unknown[0]!r}",
            right="Columns to name are user, item, rating, weight, event, timestamp and title.",
        )
    return found


def resolve(
    names: Iterable[str],
    *,
    where: str,
    named: Mapping[str, str] | None = None,
    required: Collection[str] = REQUIRED,
    optional: Collection[str] = (TIMESTAMP,),
) -> dict[str, str]:
    """Map the columns of a ratings table to the names they have in a source.

    Args:
        names: the columns of the source.
        where: the source, for messages.
        named: columns named by the user, whatever the others are called.
        required: columns that must be found.
        optional: columns to look for as well.

    >>> resolve(["userId", "movieId", "Value", "genre"], where="a.csv")
    {'user_id': 'userId', 'item_id': 'movieId', 'rating': 'Value'}
    """
    names = list(names)
    found = match(names, where=where, wanted=(*required, *optional), named=named)
    missing = [column for column in required if column not in found]
    if missing:
        also = "; timestamp is optional" if TIMESTAMP in optional else ""
        if WEIGHT in optional:
            also = "; rating, or weight and event, and timestamp are optional"
        order = "3 or 4" if RATING in required else "2, 3 or 4"
        raise DataError(
            f"no column for {' or '.join(missing)} among {name_list(names)}",
            where=where,
            right=f"Name them {', '.join(_SUGGESTED[column] for column in missing)}{also}. "
            f"Or say which they are: --columns user=NAME,item=NAME; in Python, columns={{...}}. "
            f"Without a header, {order} columns are taken in the order {', '.join(COLUMNS)}.",
        )
    return found


def resolve_table(
    names: Iterable[str], *, where: str, named: Mapping[str, str], weighed: bool = False
) -> dict[str, str]:
    """Map the columns of a table of ratings, or of interactions if it has no rating.

    It is of interactions too where the user names a weight or an event type, or weighs events.

    >>> resolve_table(["user", "item", "plays"], where="a.csv", named={})
    {'user_id': 'user', 'item_id': 'item', 'weight': 'plays'}
    >>> resolve_table(["user", "item", "stars", "count"], where="a.csv", named={})
    {'user_id': 'user', 'item_id': 'item', 'rating': 'stars'}
    """
    names = list(names)
    weighed = weighed or WEIGHT in named or EVENT in named
    if weighed and RATING in named:
        raise DataError(
            "names a rating, and a weight or event types too",
            where=where,
            right="A table has ratings or interactions: name the rating, or the weight and events.",
        )
    rated = not weighed and match(names, where=where, wanted=(RATING,), named=named)
    kind = (RATING,) if rated else (WEIGHT, EVENT)
    return resolve(
        names, where=where, named=named, required=PAIR, optional=(*kind, TIMESTAMP, TITLE)
    )


def match(
    names: Iterable[str],
    *,
    where: str,
    wanted: Collection[str] = COLUMNS,
    named: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The wanted columns of a ratings table that a source has, with the names they have there.

    Raises:
        DataError: several columns could be the same one and none has exactly its name, or a
            column named by the user is missing.

    >>> match(["user", "user_id", "asin"], where="a.csv")
    {'user_id': 'user_id', 'item_id': 'asin'}
    """
    names = list(names)
    chosen = {column: name for column, name in (named or {}).items() if column in wanted}
    for column, name in chosen.items():
        if name not in names:
            raise DataError(
                f"no column {name!r} (named as the {column}) among {name_list(names)}",
                where=where,
                right="Name one of these columns.",
            )
    known = candidates(name for name in names if name not in chosen.values())
    found = {}
    for column in ALIASES:
        if column in chosen:
            found[column] = chosen[column]
        elif column in known and column in wanted:
            found[column] = _best(column, known[column], where)
    return found


def _best(column: str, names: list[str], where: str) -> str:
    own = [name for name in names if normalized(name) == ALIASES[column][0]]
    if len(names) > 1 and len(own) != 1:
        raise DataError(
            f"each of {name_list(names)} could be the {column}",
            where=where,
            right=f"Keep one of them, or call only that one {column}.",
        )
    return names[0]


def candidates(names: Iterable[str]) -> dict[str, list[str]]:
    """For each column of a ratings table the names that could mean it, the best known first.

    >>> candidates(["user", "userId", "genre"])
    {'user_id': ['userId', 'user']}
    """
    by_normalized: dict[str, list[str]] = {}
    for name in names:
        by_normalized.setdefault(normalized(name), []).append(name)
    found = {
        column: [name for alias in aliases for name in by_normalized.get(alias, ())]
        for column, aliases in ALIASES.items()
    }
    return {column: known for column, known in found.items() if known}


def name_list(names: list[str]) -> str:
    """Column names for a message; the first eight of many."""
    short = [repr(name if len(name) <= 30 else f"{name[:29]}…") for name in names[:8]]
    return ", ".join(short) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
