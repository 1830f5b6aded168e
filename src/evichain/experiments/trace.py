"""The example of the paper: an evidence chain, drawn, with its prototypes shaded.

The pair is taken, not chosen for its looks: the first of the test ratings of which neither side is
a prototype and whose user has evidence that had to be generated in turn.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from evichain.evidence.rendering import marks
from evichain.evidence.rendering.tree_layout import (
    NODE_HEIGHT,
    Node,
    Role,
    TreeLayout,
    lay_out_tree,
)
from evichain.evidence.rendering.words import (
    GENERATED_MEANING,
    PROTOTYPE_MEANING,
    amount,
    digits,
    headline,
    rating,
    shows,
)
from evichain.evidence.trace import Piece, Trace
from evichain.experiments.experiment import Cell, Experiment, Request, Results
from evichain.experiments.report import Report, Table, Value
from evichain.experiments.sources import Source
from evichain.experiments.systems import make_system, settings_of
from evichain.ratings.side import Side
from evichain.ratings.splits import Split, random_split
from evichain.ratings.table import Ratings
from evichain.recommender import REC

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILM = "Babe (1995)"
"""Rated by the user of the paper's example, and no prototype."""

_PIECES, _DEPTH = 3, 2
_INCHES = 1 / 78
_CARD, _CARD_GAP = 110.0, 120.0
_CENTRED: Mapping[str, Any] = {"ha": "center", "va": "center"}


class TraceFigure(Experiment):
    """The figure of section 3."""

    title = "An evidence chain"
    claim = (
        "a trace of a prediction on ML-100K, prototypes shaded: User 13 rated Babe, which is not a "
        "prototype, but has been rated by prototype users, so that its embedding is generated."
    )

    systems = ("paper",)

    def splits(self, source: Source, seed: int) -> Iterable[Split]:
        """What is drawn is of the test part."""
        return [random_split(source.ratings(), 0.8, seed)]

    def cells(self, request: Request) -> Iterable[Cell]:
        """A model in the paper's form for each data set and seed."""
        for source, seed in request.over():
            settings = settings_of("paper", source, seed)
            of = {"system": "paper", "seed": seed, "settings": settings}
            yield Cell(source, of, partial(_measure, source, seed))

    def report(self, results: Results) -> Report:
        """What is drawn, in words, and the drawings."""
        traces = [Trace.from_dict(cell["trace"]) for cell in results]
        rows: list[list[Value]] = []
        files = {}
        for cell, trace in zip(results, traces, strict=True):
            through = _shown_chain(trace.user)
            rows.append(
                [
                    cell["data"],
                    cell["seed"],
                    f"{trace.user.side.noun} {trace.user.title}",
                    trace.item.title,
                    None if through is None else through.title,
                    trace.estimate,
                    cell["rating"],
                ]
            )
            files[f"-{cell['data']}-{cell['seed']}.svg"] = trace.svg()
        header = ["data", "seed", "user", "item", "a chain through", "estimate", "rating given"]
        remarks = (
            "The first test rating, in the order of the table, of which neither side is a "
            f"prototype, and whose user has rated {FILM} where the data has that film (as in the "
            "paper's example) or else anything that is no prototype. In these data sets user 13 "
            "is a prototype, so the paper's user 13 is another: its rows were sorted first.",
            "Contributions add up to the estimate. The same as SVG lies beside this page.",
        )
        layouts = [lay_out_tree(trace, digits(trace)) for trace in traces]
        width = max(layout.width for layout in layouts) + _CARD + _CARD_GAP + 80
        height = sum(layout.height + 90 for layout in layouts)
        size = width * _INCHES, height * _INCHES
        return Report([Table(header, rows)], partial(_draw, traces, layouts), size, remarks, files)


def _measure(source: Source, seed: int, progress: bool) -> dict[str, Any]:
    split = random_split(source.ratings(), 0.8, seed)
    model = make_system("paper", source, seed)
    assert isinstance(model, REC)
    model.fit(split.train, progress=progress)
    everything = max(len(rows.degrees) for rows in model.graph.rows)
    for user, item, given in _candidates(model, split):
        whole = model.explain(user, item, pieces=everything, depth=_DEPTH)
        through = _chain(whole.user, _film(split.train))
        if whole.reason is None and through is not None:
            trace = replace(whole, user=_with(whole.user, through)).pruned(
                depth=_DEPTH, pieces=_PIECES
            )
            return {"trace": trace.to_dict(), "rating": given}
    # On data so small that everybody is a prototype, take the first test rating.
    user, item, given = next(_all(split))
    trace = model.explain(user, item, pieces=_PIECES, depth=_DEPTH)
    return {"trace": trace.to_dict(), "rating": given}


def _film(ratings: Ratings) -> Any:
    """The id of the paper's film; None where the data does not have it."""
    if ratings.titles is None:
        return None
    found = ratings.titles.filter(ratings.titles["title"] == FILM)["item_id"]
    return found[0] if len(found) else None


def _all(split: Split) -> Iterator[tuple[Any, Any, float]]:
    yield from split.test.frame.select("user_id", "item_id", "rating").iter_rows()


def _candidates(model: REC, split: Split) -> Iterator[tuple[Any, Any, float]]:
    """Test ratings of known users and items, neither of them a prototype."""
    stored = [set(ids) for ids in model.prototypes]
    known = [set(model.graph.ids[side].values.to_list()) for side in Side]
    for user, item, given in _all(split):
        is_known = user in known[Side.USER] and item in known[Side.ITEM]
        if is_known and user not in stored[Side.USER] and item not in stored[Side.ITEM]:
            yield user, item, given


def _chain(user: Piece, film: Any) -> Piece | None:
    """A generated piece of the user's evidence: the film, or the strongest if `film` is None."""
    return next((piece for piece in _generated(user) if film is None or piece.id == film), None)


def _shown_chain(user: Piece) -> Piece | None:
    """The same in a pruned trace: the film if it is shown, else the strongest piece."""
    made = _generated(user)
    return next((piece for piece in made if piece.title == FILM), made[0] if made else None)


def _generated(user: Piece) -> list[Piece]:
    return [piece for piece in user.pieces if not piece.prototype and piece.pieces]


def _with(user: Piece, through: Piece) -> Piece:
    """The user with this piece among the shown ones, however small its contribution."""
    others = [piece for piece in user.pieces if piece is not through]
    shown = sorted([*others[: _PIECES - 1], through], key=lambda piece: -abs(piece.contribution))
    return replace(user, pieces=(*shown, *others[_PIECES - 1 :]))


def _draw(traces: list[Trace], layouts: list[TreeLayout], figure: "Figure") -> None:
    heights = [layout.height + 90 for layout in layouts]
    grid = figure.subplots(len(traces), 1, squeeze=False, height_ratios=heights)[:, 0]
    widest = max(layout.width for layout in layouts)
    for axes, trace, layout in zip(grid, traces, layouts, strict=True):
        axes.set_axis_off()
        axes.set_xlim(-20, widest + _CARD_GAP + _CARD + 20)
        axes.set_ylim(layout.height + 20, -50)
        axes.set_aspect("equal")
        axes.text(-10, -30, headline(trace, 90), fontsize=13, fontweight="bold", color=marks.INK)
        _draw_tree(axes, trace, layout)
    _draw_legend(figure)


def _draw_legend(figure: "Figure") -> None:
    from matplotlib.patches import Patch

    legend = []
    for side in Side:
        strong = marks.STRONG[side]
        legend.append(Patch(color=strong, label=f"{side.noun}: {PROTOTYPE_MEANING}"))
        made = f"{side.noun}: {GENERATED_MEANING}"
        legend.append(Patch(facecolor=marks.TINT[side], edgecolor=strong, label=made))
    figure.legend(handles=legend, loc="outside lower left", ncols=4, fontsize=8)


def _draw_tree(axes: "Axes", trace: Trace, layout: TreeLayout) -> None:
    from matplotlib.patches import FancyBboxPatch

    decimals = digits(trace)
    card = layout.width + _CARD_GAP
    middle = layout.height / 2
    largest = max(abs(node.contribution) for node in layout.nodes()) or 1.0
    for root in layout.roots:
        _draw_edge(axes, root, (card, middle), root.contribution / largest, decimals)
        for node in root.walk():
            for part in node.parts:
                share = part.contribution / largest
                _draw_edge(axes, part, (node.left, node.y), share, decimals)
            _draw_node(axes, node)
    box = FancyBboxPatch(
        (card, middle - 34), _CARD, 68, "round,pad=0,rounding_size=14", color=marks.INK
    )
    axes.add_patch(box)
    centre = card + _CARD / 2
    bold = {"color": marks.WHITE, "fontsize": 17, "fontweight": "bold", **_CENTRED}
    axes.text(centre, middle - 8, f"{trace.estimate:.2f}", **bold)
    axes.text(centre, middle + 18, "estimate", color="#d5d9e6", fontsize=8, **_CENTRED)


def _draw_node(axes: "Axes", node: Node) -> None:
    from matplotlib.patches import FancyBboxPatch

    piece = node.piece
    if piece is None:
        axes.text(node.right, node.y, node.label, ha="right", va="center", color=marks.MUTED)
        return
    strong = marks.STRONG[piece.side]
    corner = NODE_HEIGHT / 2 if piece.side is Side.USER else 6
    box = FancyBboxPatch(
        (node.left, node.y - NODE_HEIGHT / 2),
        node.width,
        NODE_HEIGHT,
        f"round,pad=0,rounding_size={corner}",
        facecolor=strong if piece.prototype else marks.TINT[piece.side],
        edgecolor=strong,
        linewidth=1.2,
    )
    axes.add_patch(box)
    colour = marks.WHITE if piece.prototype else marks.DARK[piece.side]
    x = (node.left + node.right) / 2
    axes.text(x, node.y, node.label, color=colour, fontsize=8.5, **_CENTRED)


def _draw_edge(
    axes: "Axes", node: Node, end: tuple[float, float], share: float, decimals: Sequence[int]
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (x, y), (to_x, to_y) = (node.right, node.y), end
    lead = 78.0 if node.role is Role.PIECE and node.depth else 20.0
    bend, half = x + lead, (to_x - x - lead) / 2
    path = Path(
        [(x, y), (bend, y), (bend + half, y), (to_x - half, to_y), (to_x, to_y)],
        [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
    )
    colour = marks.ADDS if share >= 0 else marks.TAKES
    if not shows(node.contribution, decimals[node.depth]):
        colour = marks.NEUTRAL
    drawn = PathPatch(
        path, facecolor="none", edgecolor=colour, linewidth=0.8 + 5 * abs(share), alpha=0.75
    )
    drawn.set_zorder(0.5)
    axes.add_patch(drawn)
    given = node.piece.rating if node.piece is not None else None
    stars = f"★ {rating(given)}   " if given is not None else ""
    label = stars + amount(node.contribution, decimals[node.depth])
    axes.text(
        x + 6,
        y,
        label,
        va="center",
        fontsize=7.5,
        color=marks.INK,
        bbox={"facecolor": "white", "edgecolor": colour, "boxstyle": "round,pad=0.25", "lw": 0.7},
    )
