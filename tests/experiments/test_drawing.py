from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from evichain.experiments.drawing import panels, plain_numbers, save_png
from evichain.experiments.report import Report


def test_a_picture_is_written_and_nothing_is_left_behind(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)

    def draw(figure: Figure) -> None:
        for axes in panels(figure, ["a", "b"]):
            axes.plot([1, 2], [3, 4])

    for name in ("one.png", "two.png"):
        save_png(Report([], draw, (3, 2)), tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.png", "two.png"))
    assert one == two
    assert int.from_bytes(one[16:20], "big") == 450
    assert {path.name for path in tmp_path.iterdir()} == {"one.png", "two.png"}
    save_png(Report([], draw, (3, 2)), tmp_path / "two.png", quick=True)
    assert (tmp_path / "two.png").read_bytes() != one
    assert dict(matplotlib.rcParams) == before


def test_an_axis_within_a_decade_has_numbers() -> None:
    figure = Figure()
    (axes,) = panels(figure, ["a"])
    axes.plot([1, 2], [4.2e8, 9.1e8])
    axes.set_yscale("log")
    plain_numbers(axes)
    figure.draw_without_rendering()
    low, high = axes.get_ylim()
    told = [
        label.get_text()
        for label, position in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
        if low <= position <= high
    ]
    assert {"500 M", "800 M"} <= set(told)
