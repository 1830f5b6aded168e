"""The marks of which the picture of a trace is made: colours, shapes and escaped text."""

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from evichain.evidence.rendering.tree_layout import ICON, NODE_HEIGHT, NODE_TEXT, text_width
from evichain.ratings.side import Side

FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
PAPER, FRAME, INK, MUTED, WHITE = "#fcfcfd", "#e3e6ee", "#1d2333", "#626a7c", "#ffffff"
NEUTRAL = "#9aa2b3"
ADDS, ADDS_DARK = "#2f9e8f", "#14705f"
TAKES, TAKES_DARK = "#e0526a", "#b3263f"
STRONG = {Side.USER: "#4453c4", Side.ITEM: "#bd5a06"}
TINT = {Side.USER: "#eef0fd", Side.ITEM: "#fff4e3"}
DARK = {Side.USER: "#2b3690", Side.ITEM: "#7c3a06"}
CORNER = {Side.USER: NODE_HEIGHT / 2, Side.ITEM: 6.0}


def element(tag: str, *children: str, **attributes: object) -> str:
    """An element; `font_size=3` is written font-size="3", and floats with one decimal.

    >>> element("rect", x=1.25, stroke_width=2)
    '<rect x="1.2" stroke-width="2"/>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(_value(value))}"
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(children)
    return f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>"


def _value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def box(
    x: float, y: float, width: float, height: float, rx: float, fill: str, **attributes: object
) -> str:
    """A rectangle with round corners."""
    return element("rect", x=x, y=y, width=width, height=height, rx=rx, fill=fill, **attributes)


def group(children: Iterable[str], tooltip: str = "", **attributes: object) -> str:
    """A group of marks with a tooltip."""
    title = [element("title", escape(tooltip))] if tooltip else []
    return element("g", *title, *children, **attributes)


def words(text: str, x: float, y: float, size: float, fill: str, **attributes: object) -> str:
    """A line of text whose middle is at height `y`."""
    baseline = y + 0.36 * size
    return element("text", escape(text), x=x, y=baseline, font_size=size, fill=fill, **attributes)


def entity(side: Side, label: str, x: float, y: float, width: float, shaded: bool) -> str:
    """A user (a pill with a head and shoulders) or an item (a card), shaded for a prototype."""
    fill, stroke = STRONG[side] if shaded else TINT[side], STRONG[side]
    top = y - NODE_HEIGHT / 2
    card = box(x, top, width, NODE_HEIGHT, CORNER[side], fill, stroke=stroke, stroke_width=1.5)
    icon = _icon(side, x + 18, y, WHITE if shaded else STRONG[side])
    colour = WHITE if shaded else DARK[side]
    return card + icon + words(label, x + ICON, y, NODE_TEXT, colour, font_weight=500)


def arrowhead(x: float, y: float, colour: str) -> str:
    """The arrowhead where one or more edges end."""
    return element("path", d=f"M{x - 9:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}l-9 6z", fill=colour)


def _icon(side: Side, x: float, y: float, colour: str) -> str:
    if side is Side.USER:
        head = element("circle", cx=x, cy=y - 3.6, r=3.2, fill=colour)
        path = f"M{x - 6:.1f} {y + 7:.1f}a6 5.6 0 0 1 12 0z"
        return head + element("path", d=path, fill=colour)
    frame = box(x - 6, y - 6, 12, 12, 2.5, "none", stroke=colour, stroke_width=1.6)
    return frame + element("path", d=_star(x, y + 0.3, 3.6), fill=colour)


def _star(x: float, y: float, size: float) -> str:
    points = ((0, -1), (0.25, -0.31), (0.95, -0.31), (0.38, 0.12), (0.59, 0.81))
    right = [(x + size * across, y + size * down) for across, down in points]
    foot = [(x, y + 0.42 * size)]
    left = [(2 * x - across, down) for across, down in reversed(right[1:])]
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in (*right, *foot, *left)) + "z"


def chip(rating: str, adds: str, colour: str, dark: str, x: float, y: float) -> str:
    """A label that sits on an edge: a star with the rating, and the contribution."""
    size, height = 11.5, 20.0
    left = text_width(rating, size) + 18 if rating else 0.0
    right = text_width(adds, size) if adds else 0.0
    width = 14 + left + right + (7 if rating and adds else 0)
    if not rating and not adds:
        return ""
    marks = [box(x, y - height / 2, width, height, height / 2, WHITE, stroke=colour)]
    if rating:
        marks.append(element("path", d=_star(x + 13, y, 5.0), fill="#e8a317"))
        marks.append(words(rating, x + 21, y, size, INK, font_weight=600))
    if adds:
        end = x + width - 7
        marks.append(words(adds, end, y, size, dark, font_weight=600, text_anchor="end"))
    return "".join(marks)


def link(
    start: tuple[float, float], end: tuple[float, float], lead: float, width: float, colour: str
) -> str:
    """An edge that starts horizontally, for `lead`, and then bends towards its end."""
    (x, y), (to_x, to_y) = start, end
    bend, half = x + lead, (to_x - x - lead) / 2
    path = (
        f"M{x:.1f} {y:.1f}H{bend:.1f}"
        f"C{bend + half:.1f} {y:.1f} {to_x - half:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
    )
    dashes = "7 4" if colour == TAKES else "2 4" if colour == NEUTRAL else None
    return element(
        "path", d=path, fill="none", stroke=colour, stroke_width=width, stroke_dasharray=dashes
    )
