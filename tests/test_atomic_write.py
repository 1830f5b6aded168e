"""Under a final name there is all of a thing or nothing, and what was there is not lost."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from evichain.atomic_write import write_atomically, write_file_atomically

Way = Callable[[Path], AbstractContextManager[Path]]
both = pytest.mark.parametrize("way", [write_atomically, write_file_atomically])


@both
def test_a_file_appears_whole_where_there_was_no_folder_either(way: Way, tmp_path: Path) -> None:
    final = tmp_path / "a" / "b.txt"
    with way(final) as made:
        made.write_text("half")
        assert not final.exists()
        made.write_text("whole")
    assert final.read_text() == "whole"
    assert list(final.parent.iterdir()) == [final]


@both
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_after_an_error_there_is_what_was_there(
    way: Way, error: type[BaseException], tmp_path: Path
) -> None:
    final = tmp_path / "a.txt"
    final.write_text("old")

    def fail() -> None:
        with way(final) as made:
            made.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert final.read_text() == "old"
    assert list(tmp_path.iterdir()) == [final]


@both
def test_the_name_means_the_same_wherever_one_goes(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with way(Path("a.txt")) as made:
        made.write_text("here")
        monkeypatch.chdir("/")
    assert (tmp_path / "a.txt").read_text() == "here"


def test_what_is_renamed_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    with write_atomically(tmp_path / "folder") as made:
        (made / "graph").mkdir(parents=True)
        for name in ("a.json", "graph/b.npy"):
            (made / name).write_text("x")
    with write_atomically(tmp_path / "file") as made:
        made.write_text("x")
    written = (tmp_path / name for name in ("folder/a.json", "folder/graph/b.npy", "file"))
    assert sorted(synced) == sorted(path.stat().st_ino for path in written)


def test_a_file_is_never_put_in_the_place_of_a_folder(tmp_path: Path) -> None:
    final = tmp_path / "folder"
    final.mkdir()
    with pytest.raises(OSError, match="directory"), write_file_atomically(final) as made:
        made.write_text("a file")
    assert final.is_dir()
    assert list(tmp_path.iterdir()) == [final]
