"""The titles of items, and the search for items by title."""

import unicodedata
from collections.abc import Callable, Mapping

from evichain.ratings.ids import Id


def folded(text: str) -> str:
    """A text as people type it: small letters, no accents.

    >>> folded("Amélie (2001)")
    'amelie (2001)'
    """
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


class TitleIndex:
    """What items are called; immutable, so that any thread may search it.

    >>> titles = TitleIndex.of({1: "Toy Story (1995)", 2: "GoldenEye (1995)", 3: "The Story of Us"})
    >>> titles.search("story", 9, popularity=lambda item: item)
    [3, 1]
    >>> titles.search("95 GOLD", 9, popularity=lambda item: item)
    [2]
    >>> titles.title(9)
    '9'
    """

    def __init__(self, entries: Mapping[str, tuple[Id, str, str]]) -> None:
        self._entries = entries

    @classmethod
    def of(cls, titles: Mapping[Id, str]) -> "TitleIndex":
        return cls({str(item): (item, title, folded(title)) for item, title in titles.items()})

    def __len__(self) -> int:
        return len(self._entries)

    def changed(self, titles: Mapping[Id, str | None]) -> "TitleIndex":
        """With other titles of some items; None takes one away."""
        entries = dict(self._entries)
        for item, title in titles.items():
            if title is None:
                entries.pop(str(item), None)
            else:
                entries[str(item)] = (item, title, folded(title))
        return TitleIndex(entries)

    def title(self, item: Id) -> str:
        """The title of an item, or its id as text."""
        found = self._entries.get(str(item))
        return found[1] if found else str(item)

    def search(self, text: str, n: int, popularity: Callable[[Id], int]) -> list[Id]:
        """The items whose titles hold every word of a text.

        Those that begin with it come first, and then the popular ones.
        """
        wanted = folded(text).split()
        if not wanted:
            return []
        whole = " ".join(wanted)
        found = [
            (not title.startswith(whole), -popularity(item), str(item), item)
            for item, _, title in self._entries.values()
            if all(word in title for word in wanted)
        ]
        return [hit[-1] for hit in sorted(found, key=lambda hit: hit[:3])[:n]]


NO_TITLES = TitleIndex({})
