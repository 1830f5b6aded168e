"""One type for each id: a store never has both 7 and '7'.

In a table with text ids both would be the same, and so they are over HTTP. Ids from such a table
get the type that they have in the store.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from evichain.errors import DataError
from evichain.ratings.side import Side
from evichain.service.store import queries
from evichain.service.store.checks import LARGEST, SMALLEST, shown
from evichain.service.store.packing import pack, unpack
from evichain.service.store.session import Session

if TYPE_CHECKING:
    from evichain.ratings.ids import Id

Title = TypeVar("Title", bound=str | None)


def integer(text: str) -> int | None:
    """The 64-bit integer that a text is the usual form of, or None.

    >>> integer("7"), integer("07"), integer("seven")
    (7, None, None)
    """
    try:
        number = int(text)
    except ValueError:
        return None
    return number if str(number) == text and SMALLEST <= number <= LARGEST else None


def twin(identifier: "Id") -> "Id | None":
    """The id of the other type that would be the same in a text table, if there is one."""
    return integer(identifier) if isinstance(identifier, str) else str(identifier)


def renamed(session: Session, side: Side, adopting: "set[Id]", strict: "set[Id]") -> "dict[Id, Id]":
    """Ids that the store has in the other type, with the id in the store.

    Args:
        adopting: ids that get the type of the store.
        strict: ids that must have the type of the store.

    Raises:
        DataError: a strict id has the other type, or an id is given in both types.
    """
    given = adopting | strict
    twins = _twins(given)
    for one, other in twins.items():
        if other in given:
            raise DataError(
                f"{side.noun}s {shown(one)} and {shown(other)} differ only in type",
                right="Use only integers or only text.",
            )
    there = _known(session, twins.values(), queries.known_ids(side, "ratings"))
    found = {one: other for one, other in twins.items() if other in there}
    for one in strict:
        if one in found:
            raise DataError(
                f"{side.noun} {shown(one)} is {shown(found[one])} in the store",
                right=f"Give {shown(found[one])}, or delete its ratings first.",
            )
    return found


def as_known(session: Session, titles: "Sequence[tuple[Id, Title]]") -> "list[tuple[Id, Title]]":
    """Titles with the items in the type of the store: of rated items, else of items with titles."""
    given = {item for item, _ in titles}
    twins = _twins(given)
    twins = {item: other for item, other in twins.items() if other not in given}
    rated = _known(session, [*twins, *twins.values()], queries.known_ids(Side.ITEM, "ratings"))
    titled = _known(session, twins.values(), queries.known_ids(Side.ITEM, "titles"))
    found = {
        item: other
        for item, other in twins.items()
        if other in rated or (other in titled and item not in rated)
    }
    return [(found.get(item, item), title) for item, title in titles]


class IdTypeAdopter:
    """Gives the ids of packed ratings the type that they have in the store before a load."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._has = {side: session.rows(queries.id_types_of(side))[0] for side in Side}
        self._held: dict[tuple[Side, bool], pl.Series] = {}

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        for side in Side:
            text, number = f"{side.noun}_text", f"{side.noun}_number"
            integers, texts = self._has[side]
            are_text = frame[text] != ""
            if integers and are_text.any():
                value = frame[text].cast(pl.Int64, strict=False)
                same = (value.cast(pl.String) == frame[text]) & value.is_in(
                    self._ids(side, False).implode()
                )
                frame = _where(frame, same.fill_null(False), {text: pl.lit(""), number: value})
            if texts and not are_text.all():
                value = frame[number].cast(pl.String)
                same = ~are_text & value.is_in(self._ids(side, True).implode())
                frame = _where(frame, same, {text: value, number: pl.lit(0, pl.Int64)})
        return frame

    def _ids(self, side: Side, texts: bool) -> pl.Series:
        """All ids of a type, read only when needed: most tables have the types of the store."""
        if (side, texts) not in self._held:
            query = queries.texts(side) if texts else queries.integers(side)
            rows = [value for (value,) in self._session.rows(query)]
            kind = pl.String if texts else pl.Int64
            self._held[side, texts] = pl.Series(rows, dtype=kind)
        return self._held[side, texts]


def _twins(ids: "Iterable[Id]") -> "dict[Id, Id]":
    """Each id with its twin, if it has one."""
    return {one: other for one in ids if (other := twin(one)) is not None}


def _where(
    frame: pl.DataFrame, mask: pl.Series, columns: Mapping[str, pl.Series | pl.Expr]
) -> pl.DataFrame:
    """A frame with other values in some rows."""
    if not mask.any():
        return frame
    return frame.with_columns(
        pl.when(mask).then(value).otherwise(pl.col(name)).alias(name)
        for name, value in columns.items()
    )


def _known(session: Session, ids: "Iterable[Id]", query: queries.Query) -> "set[Id]":
    """Which ids are in a table."""
    keys = list(dict.fromkeys(map(pack, ids)))
    return {unpack(*row) for row in session.look_up(keys, query)}
