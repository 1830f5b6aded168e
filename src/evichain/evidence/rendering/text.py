"""A trace as a tree for a terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from evichain.evidence.rendering.words import (
    GENERATED_MEANING,
    OWN,
    OWN_AT_ROOT,
    PROTOTYPE_MEANING,
    amount,
    digits,
    headline,
    meaning,
    name,
    plain,
    rating,
    shortened,
    shows,
    so_many,
    width,
)

if TYPE_CHECKING:
    from evichain.evidence.trace import Piece, Trace

COLUMNS = 100
LONGEST_LABEL = 56
PROTOTYPE, GENERATED = "◆", "◇"


@dataclass(frozen=True)
class Row:
    """A line of the tree: its branches and label, and what stands in the two columns."""

    branches: str
    label: str
    rating: str = ""
    adds: str = ""


def text(trace: "Trace") -> str:
    """The tree for a terminal, at most 100 columns wide."""
    decimals = digits(trace)
    rows = [*_rows(trace.user, "", False, decimals), *_rows(trace.item, "", True, decimals)]
    lines = [headline(trace, COLUMNS)]
    if trace.reason is not None:
        reason = f"The estimate is only a mean or a prior: {plain(trace.reason)}"
        lines += wrap(reason, COLUMNS)
        rows = [Row(row.branches, row.label, row.rating) for row in rows]
    lines += _table(rows)
    lines.append(f"{PROTOTYPE} {PROTOTYPE_MEANING}   {GENERATED} {GENERATED_MEANING}")
    lines.append(meaning(trace, decimals[0]))
    return "\n".join(lines)


def _rows(piece: "Piece", branches: str, last: bool, decimals: Sequence[int]) -> Iterator[Row]:
    mark = PROTOTYPE if piece.prototype else GENERATED
    stars = "" if piece.rating is None else rating(piece.rating)
    label = f"{mark} {shortened(name(piece), LONGEST_LABEL)}"
    if piece.others and not piece.pieces:
        label += f" · from {so_many(piece.others)}"
    adds = _aligned(piece.contribution, piece.depth, decimals)
    yield Row(branches + ("└─ " if last else "├─ "), label, stars, adds)

    branches += "   " if last else "│  "
    if not piece.pieces:
        return
    below = piece.depth + 1
    has_own, has_others = shows(piece.own, decimals[below]), piece.others > 0
    for number, part in enumerate(piece.pieces, 1):
        final = number == len(piece.pieces) and not has_own and not has_others
        yield from _rows(part, branches, final, decimals)
    if has_own:
        own = OWN if piece.depth else OWN_AT_ROOT
        start = "├─ " if has_others else "└─ "
        yield Row(branches + start, own, "", _aligned(piece.own, below, decimals))
    if has_others:
        rest = piece.others_contribution
        total = f" ({amount(rest, decimals[below])})" if rest else ""
        yield Row(branches + "└─ ", f"… and {piece.others} more{total}")


def _aligned(contribution: float, depth: int, decimals: Sequence[int]) -> str:
    """The contribution of a piece, padded on the right so that decimal points are aligned."""
    return amount(contribution, decimals[depth]) + " " * (max(decimals) - decimals[depth])


def _table(rows: list[Row]) -> Iterator[str]:
    """The rows with their columns aligned, under a heading; columns that stay empty left out."""
    rated = max((width(row.rating) for row in rows if row.rating), default=0)
    adding = max((width(row.adds) for row in rows if row.adds), default=0)
    columns = [size for size in (rated and max(rated, len("rating")), adding) if size]
    room = COLUMNS - sum(columns) - 2 * len(columns)
    labels = [row.branches + shortened(row.label, room - len(row.branches)) for row in rows]
    used = max(map(width, labels))

    def line(label: str, stars: str, adds: str) -> str:
        cells = label + " " * (used - width(label))
        if rated:
            cells += "  " + " " * (columns[0] - width(stars)) + stars
        if adding:
            cells += ("  " if rated else " ") + " " * (adding - width(adds)) + adds
        return cells.rstrip()

    if columns:
        yield line("", "rating", "adds" if adding else "")
    for row, label in zip(rows, labels, strict=True):
        yield line(label, row.rating, row.adds)
