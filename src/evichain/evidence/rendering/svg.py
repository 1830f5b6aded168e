"""A trace as a picture: evidence flows from the left into the prediction at the right.

The picture needs nothing beside itself, has its own background, and says in words what it shows
to those who cannot see it.
"""

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape
from zlib import crc32

from evichain.evidence.rendering import marks
from evichain.evidence.rendering.legend import legend
from evichain.evidence.rendering.marks import element, group, words
from evichain.evidence.rendering.tree_layout import (
    LINE,
    Node,
    Role,
    TreeLayout,
    lay_out_tree,
    text_width,
)
from evichain.evidence.rendering.words import (
    amount,
    digits,
    headline,
    meaning,
    name,
    plain,
    rating,
    shortened,
    shows,
)
from evichain.ratings.side import Side

if TYPE_CHECKING:
    from evichain.evidence.trace import Trace

MARGIN = 32.0
LEAD = 104.0
CARD_WIDTH, CARD_HEIGHT = 118.0, 84.0
CARD_GAP = 150.0
HEADLINE = 20.0
NARROWEST = 600.0
THINNEST, THICKEST = 1.2, 9.0


def svg(trace: "Trace") -> str:
    """The picture of a trace."""
    return _Picture(trace).draw()


class _Picture:
    def __init__(self, trace: "Trace") -> None:
        self.trace = trace
        self.digits = digits(trace)
        self.layout: TreeLayout = lay_out_tree(trace, self.digits)
        self.headline = headline(trace, 64)
        self.largest = max((abs(node.contribution) for node in self.layout.nodes()), default=0.0)

    def draw(self) -> str:
        tree_width = self.layout.width + CARD_GAP + CARD_WIDTH
        tree_height = max(self.layout.height, CARD_HEIGHT)
        inner = max(tree_width, NARROWEST, text_width(self.headline, HEADLINE))
        notes = self._notes(inner)
        top = MARGIN + 30 + 18 * len(notes) + 18
        explained, legend_height = self._legend(inner)
        width = inner + 2 * MARGIN
        height = top + tree_height + 28 + legend_height + MARGIN - 8
        across, down = MARGIN + (inner - tree_width) / 2, top
        lift = (tree_height - self.layout.height) / 2
        key = f"trace-{crc32(str(self.trace.to_dict()).encode('utf-8', 'replace')):08x}"
        return element(
            "svg",
            element("title", escape(self.headline), id=f"{key}-title"),
            element("desc", escape(self._description()), id=f"{key}-desc"),
            marks.box(0.5, 0.5, width - 1, height - 1, 14, marks.PAPER, stroke=marks.FRAME),
            words(self.headline, MARGIN, MARGIN + 8, HEADLINE, marks.INK, font_weight=700),
            *self._lines(notes),
            group(self._tree(), transform=f"translate({across:.1f} {down + lift:.1f})"),
            group(explained, transform=f"translate({MARGIN:.1f} {top + tree_height + 28:.1f})"),
            xmlns="http://www.w3.org/2000/svg",
            width=round(width),
            height=round(height),
            viewBox=f"0 0 {width:.0f} {height:.0f}",
            role="img",
            aria_labelledby=f"{key}-title {key}-desc",
            font_family=marks.FONT,
        )

    def _notes(self, inner: float) -> list[str]:
        reason = self.trace.reason
        if reason is None:
            return [meaning(self.trace, self.digits[0])]
        note = f"The estimate is only a mean or a prior: {plain(reason)}"
        return wrap(note, int(inner / (0.6 * LINE)), max_lines=4, placeholder=" …")

    def _lines(self, notes: list[str]) -> Iterator[str]:
        for number, note in enumerate(notes):
            yield words(note, MARGIN, MARGIN + 34 + 18 * number, LINE, marks.MUTED)

    def _tree(self) -> Iterator[str]:
        card_x = self.layout.width + CARD_GAP
        card_y = sum(root.y for root in self.layout.roots) / 2
        edges, nodes = [], []
        for root in self.layout.roots:
            edges.append((root, (card_x, card_y)))
            for node in root.walk():
                edges += [(part, (node.left, node.y)) for part in node.parts]
                nodes.append(node)
        # The thinnest last, so that none hides under a thick one.
        edges.sort(key=lambda edge: -abs(edge[0].contribution))
        yield group((self._edge(*edge) for edge in edges), opacity=0.8)
        yield from (self._arrowhead(node) for node in nodes if node.parts)
        yield marks.arrowhead(card_x + 1, card_y, self._card_colour)
        yield from (self._chip(node) for node in nodes)
        yield from (self._node(node) for node in nodes)
        yield self._card(card_x, card_y)

    def _colours(self, node: Node) -> tuple[str, str]:
        if self.trace.reason is not None or not shows(node.contribution, self.digits[node.depth]):
            return marks.NEUTRAL, marks.MUTED
        if node.contribution < 0:
            return marks.TAKES, marks.TAKES_DARK
        return marks.ADDS, marks.ADDS_DARK

    def _edge(self, node: Node, end: tuple[float, float]) -> str:
        # By area, as the eye compares sizes; a linear scale would leave deep evidence invisible.
        share = abs(node.contribution) / self.largest if self.largest > 0 else 0.0
        thickness = THINNEST + (THICKEST - THINNEST) * share**0.5
        if self.trace.reason is not None:
            thickness = 1.6
        colour, _ = self._colours(node)
        lead = LEAD if node.depth else 62.0
        return marks.link((node.right, node.y), end, lead, thickness, colour)

    def _chip(self, node: Node) -> str:
        linked = node.piece.rating if node.piece else None
        stars = "" if linked is None else rating(linked)
        silent = self.trace.reason is not None or (
            node.role is Role.OTHERS and not node.contribution
        )
        adds = "" if silent else amount(node.contribution, self.digits[node.depth])
        return marks.chip(stars, _typeset(adds), *self._colours(node), node.right + 12, node.y)

    def _node(self, node: Node) -> str:
        if node.role is not Role.PIECE or node.piece is None:
            return words(
                node.label,
                node.right - 4,
                node.y,
                LINE,
                marks.MUTED,
                text_anchor="end",
                font_style="italic",
            )
        piece = node.piece
        tooltip = node.full
        if piece.rating is not None:
            tooltip += f", rated {rating(piece.rating)}"
        if self.trace.reason is None:
            tooltip += f": {amount(piece.contribution, self.digits[piece.depth])}"
        if piece.prototype:
            tooltip += " (prototype)"
        shape = marks.entity(piece.side, node.label, node.left, node.y, node.width, piece.prototype)
        return group([shape], tooltip)

    @staticmethod
    def _arrowhead(node: Node) -> str:
        side = Side.USER if node.piece is None else node.piece.side
        return marks.arrowhead(node.left, node.y, marks.STRONG[side])

    @property
    def _card_colour(self) -> str:
        return marks.INK if self.trace.reason is None else marks.MUTED

    def _card(self, x: float, y: float) -> str:
        caption = "predicted rating" if self.trace.reason is None else "mean or prior"
        middle = x + CARD_WIDTH / 2
        number = _typeset(f"{self.trace.estimate:z.2f}")
        size = min(32.0, 32.0 * (CARD_WIDTH - 24) / text_width(number, 32.0))
        top = y - CARD_HEIGHT / 2
        card = marks.box(x, top, CARD_WIDTH, CARD_HEIGHT, 16, self._card_colour)
        estimate = words(
            number, middle, y - 8, size, marks.WHITE, font_weight=700, text_anchor="middle"
        )
        below = words(caption, middle, y + 23, 11.5, "#d5d9e6", text_anchor="middle")
        return group([card, estimate, below], self.headline)

    def _legend(self, inner: float) -> tuple[list[str], float]:
        nodes = list(self.layout.nodes())
        pieces = [node.piece for node in nodes if node.piece]
        return legend(pieces, {self._colours(node)[0] for node in nodes}, inner)

    def _description(self) -> str:
        trace = self.trace
        if trace.reason is not None:
            return f"The estimate is only a mean or a prior: {plain(trace.reason)}"
        sentences = [meaning(trace, self.digits[0])]
        for root in (trace.user, trace.item):
            strongest = "; ".join(
                f"{name(piece)}, rated {rating(piece.rating or 0.0)}, "
                f"{amount(piece.contribution, self.digits[1])}"
                for piece in root.pieces[:3]
            )
            through = f"{amount(root.contribution, self.digits[0])} through {name(root)}"
            sentences.append(f"{through}, above all {strongest}." if strongest else f"{through}.")
        return shortened(" ".join(sentences), 1000)


def _typeset(number: str) -> str:
    """A number with a minus sign as wide as its plus."""
    return number.replace("-", "\N{MINUS SIGN}")
