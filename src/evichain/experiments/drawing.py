"""What the pictures share: colours, axes, and how they are written."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evichain.atomic_write import write_file_atomically
from evichain.experiments.experiment import Results
from evichain.experiments.report import QUICK_RUN, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

INK, MUTED, GRID, REPORTED = "#1d2333", "#626a7c", "#e3e6ee", "#8b93a5"
"""The colours of text, of secondary text, of grid lines, and of the paper's figures."""

COLOURS = {
    "paper": "#4453c4",
    "plus": "#bd5a06",
    "pmf": "#2f9e8f",
    "gc-mc": "#b3263f",
    "online-mf": "#7a5ab8",
    "mean": "#9aa2b3",
}
"""Of the systems that appear in more than one picture."""

_DOTS, _FEW_TENS = 150, 50
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}


def save_png(report: Report, path: Path, *, quick: bool = False) -> None:
    """Draw the picture of a report; that of a quick run says so, wherever it is shown."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Not by pyplot, which keeps every figure and may look for a screen.
    with matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=report.size, layout="constrained")
        FigureCanvasAgg(figure)
        report.draw(figure)
        if quick:
            figure.suptitle(QUICK_RUN, color=MUTED, fontsize=9)
        with write_file_atomically(path) as made:
            figure.savefig(made, dpi=_DOTS, format="png", metadata={"Software": None})


def by_data(results: Results, figure: "Figure") -> "Iterator[tuple[Axes, Results]]":
    """Axes beside each other, one for each data set, with what was found there."""
    datas = results.distinct("data")
    for axes, data in zip(panels(figure, datas), datas, strict=True):
        yield axes, results.where(data=data)


def panels(figure: "FigureBase", titles: Sequence[str]) -> "list[Axes]":
    """Axes beside each other, one for each title."""
    row = figure.subplots(1, len(titles), squeeze=False)[0]
    for axes, title in zip(row, titles, strict=True):
        axes.set_title(title)
    return list(row)


def note_beside(
    axes: "Axes", text: str, point: tuple[float, float], away: tuple[float, float], **style: Any
) -> None:
    """Write a text so many dots away from a point."""
    axes.annotate(text, point, xytext=away, textcoords="offset points", **style)


def legend_below(figure: "Figure", columns: int | None = None, **style: Any) -> None:
    """The legend of the first axes, below all; in one row, unless the columns are given."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    ncols = columns or len(handles)
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, **style)


def plain_numbers(axes: "Axes", which: str = "y") -> None:
    """Write the numbers of a logarithmic axis as people read them: 2 M, not 2 × 10⁶."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = axes.yaxis if which == "y" else axes.xaxis
    low, high = sorted(axes.get_ylim() if which == "y" else axes.get_xlim())
    if 0 < high < _FEW_TENS * low:
        # There may be no power of ten in it, or but one.
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 5 * low else range(1, 10)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())


def short(value: float) -> str:
    """A number in little room.

    >>> short(0.25), short(950), short(19_391_011), short(3.49e9)
    ('0.25', '950', '19.4 M', '3.49 G')
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"
