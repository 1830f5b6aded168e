"""The words and numbers of a trace, the same in every rendering.

Titles come from files that anybody may have written, so none is shown before `plain` has made
it one harmless line.
"""

import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from evichain.ratings.side import Side

if TYPE_CHECKING:
    from evichain.evidence.trace import Piece, Trace

PROTOTYPE_MEANING = "prototype, its embedding stored"
GENERATED_MEANING = "generated from its evidence"
OWN = "the rating itself"
OWN_AT_ROOT = "whatever the evidence"

_JOINERS = "\u200c\u200d"
_LONGEST = 500


def plain(title: str) -> str:
    """The title on one line, without characters that could break the layout.

    Control characters become spaces; those that reverse or hide text are dropped; what cannot be
    encoded becomes a replacement character.

    >>> plain(" Babe\\r\\n(1995)\\x1b[31m\\u202e ")
    'Babe (1995) [31m'
    """
    return " ".join("".join(map(_harmless, title[:_LONGEST])).split())


def _harmless(character: str) -> str:
    if character in _JOINERS:
        return character
    match unicodedata.category(character):
        case "Cc" | "Zl" | "Zp":
            return " "
        case "Cf":
            return ""
        case "Cs" | "Cn" | "Co":
            return "\N{REPLACEMENT CHARACTER}"
        case _:
            return character


def width(text: str) -> int:
    """How many columns of a terminal the text takes.

    >>> width("Babe"), width("千と千尋")
    (4, 8)
    """
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, columns: int) -> str:
    """The text, cut with an ellipsis where it would take more than so many columns.

    >>> shortened("The Shawshank Redemption", 10)
    'The Shaws…'
    """
    if width(text) <= columns:
        return text
    used, kept = 1, ""
    for character in text:
        used += _columns(character)
        if used > columns:
            break
        kept += character
    return kept.rstrip() + "…"


def name(piece: "Piece") -> str:
    """What to call a piece: a title where there is one, else `user 13` or `item 8`.

    A guest is `you`.
    """
    title = plain(piece.title) or plain(str(piece.id)) or "?"
    if piece.side is Side.ITEM and piece.title != str(piece.id):
        return title
    if piece.side is Side.USER and not piece.depth and title == "you":
        return title
    return f"{piece.side.noun} {title}"


def headline(trace: "Trace", columns: int) -> str:
    """The prediction in words."""
    number = f"{trace.estimate:z.2f}"
    between = (" would rate ", "") if trace.measure == "rating" else (" and ", ": score")
    longest = (columns - len("".join(between)) - 1 - len(number)) // 2
    user, item = (name(piece) for piece in (trace.user, trace.item))
    # What one name does not need, the other may use.
    longest_item = max(longest, 2 * longest - width(user))
    longest_user = max(longest, 2 * longest - width(item))
    who, what = shortened(user, longest_user), shortened(item, longest_item)
    return f"{who}{between[0]}{what}{between[1]} {number}"


def meaning(trace: "Trace", digits: int) -> str:
    """What the numbers of the tree mean, in a line."""
    if trace.reason is not None:
        return "Without a chain of evidence there are no contributions."
    if trace.kind == "removal":
        return (
            "Each number is what the estimate would lose without that piece alone; "
            "they need not add up."
        )
    if trace.kind != "additive":
        return f"The numbers are {plain(trace.kind)} contributions to the estimate."
    user, item = trace.user.contribution, trace.item.contribution
    sign = "-" if item < 0 else "+"
    return (
        "The contributions add up to the estimate: "
        f"{user:z.{digits}f} {sign} {abs(item):.{digits}f} = {trace.estimate:z.{digits}f}."
    )


def rating(value: float) -> str:
    """A rating without trailing zeros.

    >>> rating(4.0), rating(3.5), rating(-9.276)
    ('4', '3.5', '-9.28')
    """
    return f"{value:z.2f}".rstrip("0").rstrip(".")


def so_many(ratings: int) -> str:
    """A number of ratings, in words.

    >>> so_many(1), so_many(35)
    ('1 rating', '35 ratings')
    """
    return f"{ratings} rating" if ratings == 1 else f"{ratings} ratings"


def amount(contribution: float, digits: int) -> str:
    """A contribution with its sign; without a sign if it rounds to zero.

    >>> amount(0.4251, 2), amount(-0.004, 3), amount(-0.004, 2)
    ('+0.43', '-0.004', '0.00')
    """
    sign = "+" if shows(contribution, digits) else ""
    return f"{contribution:{sign}z.{digits}f}"


def shows(contribution: float, digits: int) -> bool:
    """Whether anything but zeros would be printed."""
    return float(f"{contribution:.{digits}f}") != 0


def digits(trace: "Trace") -> list[int]:
    """Decimals that show the strongest pieces as different, by depth.

    Two, and more where evidence is spread thin, as it is further down.
    """
    largest: dict[int, float] = {}
    for root in (trace.user, trace.item):
        for piece in _walk(root):
            size = abs(piece.contribution)
            largest[piece.depth] = max(size, largest.get(piece.depth, 0.0))
    return [_decimals(largest[depth]) for depth in sorted(largest)]


def _decimals(largest: float) -> int:
    return 2 if largest >= 0.1 or not largest else 3 if largest >= 0.01 else 4


def _walk(piece: "Piece") -> Iterator["Piece"]:
    yield piece
    for part in piece.pieces:
        yield from _walk(part)
