from pathlib import Path

import pytest

from evichain.cli._errors import OutputError
from evichain.cli._files import check_place, replacing


def test_an_error_leaves_nothing_and_keeps_the_old(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(OutputError, match=r"out\.txt: cannot be written"):
        _half_written(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_replaces_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "model"
    for content in ("old", "new"):
        with replacing(path, force=True) as beside:
            beside.mkdir()
            (beside / "model.json").write_text(content)
    assert (path / "model.json").read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_above_are_made_when_something_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "out.txt"
    check_place(path)
    assert not list(tmp_path.iterdir())
    with replacing(path, force=False) as beside:
        beside.write_text("x")
    assert path.read_text() == "x"


def test_a_dangling_link_is_something(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError), replacing(link, force=False):
        pass


def _half_written(path: Path) -> None:
    with replacing(path, force=True) as beside:
        beside.write_text("half")
        raise OSError(28, "No space left on device")
