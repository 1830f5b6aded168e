from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

from evichain.experiments.drawing import panels, save_png
from evichain.experiments.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def test_a_picture_is_written_and_nothing_is_left_behind(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)

    def draw(figure: "Figure") -> None:
        for axes in panels(figure, ["a", "b"]):
            axes.plot([1, 2], [3, 4])

    for name in ("one.png", "two.png"):
        save_png(Report([], draw, (3, 2)), tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.png", "two.png"))
    assert one == two
    assert int.from_bytes(one[16:20], "big") == 450
    assert {path.name for path in tmp_path.iterdir()} == {"one.png", "two.png"}
    assert dict(matplotlib.rcParams) == before
