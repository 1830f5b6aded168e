"""The layout of a trace's picture: where each node of the tree goes, from left to right.

The evidence stands at the left, the prediction at the right end; every depth has its column, every
leaf its row, and a parent stands level with the middle of its evidence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from evichain.evidence.rendering.words import OWN, OWN_AT_ROOT, name, shortened, shows, so_many
from evichain.ratings.side import Side

if TYPE_CHECKING:
    from evichain.evidence.trace import Piece, Trace

NODE_HEIGHT = 32.0
NODE_TEXT = 13.0
LINE = 12.5
ROW = 44.0
NARROW_ROW = 34.0
BRANCH_GAP = 22.0
COLUMN_GAP = 178.0
ICON = 32.0
LABEL_PADDING = 12.0
SMALLEST_LABEL = 50.0
LONGEST_LABEL = 30


class Role(Enum):
    """What a node of the picture stands for."""

    PIECE = "piece"
    OWN = "own"
    OTHERS = "others"


@dataclass
class Node:
    """A node of the picture: its right end at `right`, its middle at `y`."""

    role: Role
    label: str
    full: str
    depth: int
    contribution: float
    piece: "Piece | None" = None
    parts: list["Node"] = field(default_factory=list)
    right: float = 0.0
    y: float = 0.0
    width: float = 0.0

    @property
    def left(self) -> float:
        return self.right - self.width

    @property
    def side(self) -> Side | None:
        return self.piece.side if self.piece else None

    def walk(self) -> Iterator["Node"]:
        """This node and all below it."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True)
class TreeLayout:
    """The two placed trees, and how large they are together."""

    roots: tuple[Node, Node]
    width: float
    height: float

    def nodes(self) -> Iterator[Node]:
        for root in self.roots:
            yield from root.walk()


def lay_out_tree(trace: "Trace", decimals: Sequence[int]) -> TreeLayout:
    """Place the trees of a trace in a box whose upper left corner is the origin."""
    user, item = (_node(root, decimals) for root in (trace.user, trace.item))
    middle = _stack(user, 0.0)
    bottom = _stack(item, middle + BRANCH_GAP)
    nodes = [*user.walk(), *item.walk()]
    shapes = _widths(nodes)
    columns: dict[int, float] = {}
    for node in nodes:
        node.width = shapes.get((node.depth, node.side), text_width(node.label, NODE_TEXT))
        columns[node.depth] = max(columns.get(node.depth, 0.0), node.width)
    ends = _column_ends(columns)
    for node in nodes:
        node.right = ends[node.depth]
    return TreeLayout((user, item), ends[0], bottom)


def _node(piece: "Piece", decimals: Sequence[int]) -> Node:
    full = name(piece)
    label = shortened(full, LONGEST_LABEL)
    if piece.others and not piece.pieces:
        label += f" · {so_many(piece.others)}"
        full += f", from {so_many(piece.others)}"
    node = Node(Role.PIECE, label, full, piece.depth, piece.contribution, piece)
    if not piece.pieces:
        return node
    below = piece.depth + 1
    node.parts = [_node(part, decimals) for part in piece.pieces]
    if shows(piece.own, decimals[below]):
        own = OWN if piece.depth else OWN_AT_ROOT
        node.parts.append(Node(Role.OWN, own, own, below, piece.own))
    if piece.others:
        rest = f"… and {piece.others} more"
        node.parts.append(Node(Role.OTHERS, rest, rest, below, piece.others_contribution))
    return node


def _stack(node: Node, top: float) -> float:
    """Give each leaf below `node` a row from `top` down; returns where the next one may start."""
    if not node.parts:
        height = ROW if node.role is Role.PIECE else NARROW_ROW
        node.y = top + height / 2
        return top + height
    for part in node.parts:
        top = _stack(part, top)
        if part.parts and part is not node.parts[-1]:
            top += BRANCH_GAP / 2
    node.y = (node.parts[0].y + node.parts[-1].y) / 2
    return top


def _widths(nodes: list[Node]) -> dict[tuple[int, Side | None], float]:
    """One width for all users, and one for all items, of a column."""
    widths: dict[tuple[int, Side | None], float] = {}
    for node in nodes:
        if node.piece:
            needed = max(SMALLEST_LABEL, text_width(node.label, NODE_TEXT)) + ICON + LABEL_PADDING
            key = node.depth, node.side
            widths[key] = max(widths.get(key, 0.0), needed)
    return widths


def _column_ends(widths: dict[int, float]) -> dict[int, float]:
    """The right end of each depth's column; the deepest starts at 0."""
    ends, right = {}, -COLUMN_GAP
    for depth in sorted(widths, reverse=True):
        right += COLUMN_GAP + widths[depth]
        ends[depth] = right
    return ends


def text_width(text: str, size: float) -> float:
    """An estimate of the width of a text in any sans-serif font, rather too large than too small.

    >>> text_width("Will", 10) < text_width("MAMA", 10) < text_width("千と千尋", 10)
    True
    """
    return size * sum(map(_em, text))


def _em(character: str) -> float:
    if character in "iljtfrI.,:;'|!()[] ":
        return 0.40
    if character in "mwMW@%…":
        return 0.95
    if ord(character) > 0x2E7F:
        return 1.05
    return 0.70 if character.isupper() or character.isdigit() else 0.61
