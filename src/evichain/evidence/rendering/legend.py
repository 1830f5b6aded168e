"""What the marks of a trace's picture mean: a sample of each that occurs, with its name."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evichain.evidence.rendering import marks
from evichain.evidence.rendering.marks import element, group, words
from evichain.evidence.rendering.tree_layout import LINE, text_width
from evichain.ratings.side import Side

if TYPE_CHECKING:
    from evichain.evidence.trace import Piece

LINE_HEIGHT = 26.0
BETWEEN = 22.0

Sample = tuple[str, float, str]


def legend(pieces: Sequence["Piece"], colours: set[str], inner: float) -> tuple[list[str], float]:
    """The legend of a picture with these pieces and edge colours, and the height it takes.

    It takes as many lines as the width `inner` asks for.
    """
    drawn = [element("line", x1=0, y1=0, x2=inner, y2=0, stroke=marks.FRAME)]
    x, y = 0.0, LINE_HEIGHT
    for sample, sample_width, label in (*_entities(pieces), *_edges(pieces, colours)):
        needed = sample_width + 8 + text_width(label, LINE)
        if x and x + needed > inner:
            x, y = 0.0, y + LINE_HEIGHT
        explained = [sample, words(label, sample_width + 8, 0.0, LINE, marks.MUTED)]
        drawn.append(group(explained, transform=f"translate({x:.1f} {y:.1f})"))
        x += needed + BETWEEN
    return drawn, y + 12


def _entities(pieces: Sequence["Piece"]) -> Iterator[Sample]:
    present = {(piece.side, piece.prototype) for piece in pieces}
    for side in Side:
        if (side, False) in present:
            yield _swatch(0.0, side, False), 26.0, side.noun
    stored = [side for side in Side if (side, True) in present]
    if stored:
        swatches = [_swatch(30.0 * at, side, True) for at, side in enumerate(stored)]
        yield "".join(swatches), 30.0 * len(stored) - 4, "prototype (embedding stored)"


def _edges(pieces: Sequence["Piece"], colours: set[str]) -> Iterator[Sample]:
    if any(piece.rating is not None for piece in pieces):
        yield marks.chip("4", "", marks.FRAME, marks.INK, 0.0, 0.0), 40.0, "rating given"
    if marks.ADDS in colours:
        yield marks.link((0, 0), (34, 0), 0.0, 5.0, marks.ADDS), 34.0, "adds (thicker: more)"
    if marks.TAKES in colours:
        yield marks.link((0, 0), (34, 0), 0.0, 5.0, marks.TAKES), 34.0, "takes away"


def _swatch(x: float, side: Side, shaded: bool) -> str:
    corner, stroke = 8 if side is Side.USER else 4, marks.STRONG[side]
    fill = stroke if shaded else marks.TINT[side]
    return marks.box(x, -8.0, 26, 16, corner, fill, stroke=stroke, stroke_width=1.5)
