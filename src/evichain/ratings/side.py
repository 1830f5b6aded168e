"""The two sides of a rating. Every algorithm is written once, for a side and its opposite."""

from enum import IntEnum


class Side(IntEnum):
    """Which side of a rating an entity stands on.

    >>> Side.USER.opposite
    <Side.ITEM: 1>
    """

    USER = 0
    ITEM = 1

    @property
    def opposite(self) -> "Side":
        return Side(1 - self)

    @property
    def noun(self) -> str:
        """`user` or `item`, for messages."""
        return self.name.lower()

    @property
    def column(self) -> str:
        """The id column of this side in a ratings table."""
        return f"{self.noun}_id"
