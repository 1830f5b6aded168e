"""What an item is called, by the id that was typed for it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evichain.ratings.graph import Graph


def title_of(graph: "Graph", item: str) -> str:
    """The title of an item, or what was typed where there is none."""
    from evichain.ratings import Side

    native = graph.ids[Side.ITEM].native(item)
    return item if native is None else graph.title(native)
