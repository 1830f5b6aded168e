"""What was typed for a user or an item: the id that the data has, and what an item is called."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evichain.ratings import Side
    from evichain.ratings.graph import Graph
    from evichain.ratings.ids import Id


def as_known(graph: "Graph", side: "Side", typed: "Sequence[Id]") -> "list[Id]":
    """Ids in the type that the data has for them; those it does not have as they were given."""
    from evichain.ratings.ids import UNKNOWN

    ids = graph.ids[side]
    found = zip(typed, ids.index(typed).tolist(), strict=True)
    return [given if index == UNKNOWN else ids[index] for given, index in found]


def title_of(graph: "Graph", item: str) -> str:
    """The title of an item, or what was typed where there is none."""
    from evichain.ratings import Side

    native = graph.ids[Side.ITEM].native(item)
    return item if native is None else graph.title(native)


def named(graph: "Graph", item: str) -> str:
    """What to call an item: its title, or `item 7` where there is none."""
    title = title_of(graph, item)
    return f"item {item}" if title == item else title
