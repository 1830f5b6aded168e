import os
from pathlib import Path

import polars as pl
import pytest
from tests.full import full_disk

from evichain.cli._errors import OutputError
from evichain.cli._files import check_free, check_parent, replacing
from evichain.errors import ModelError
from evichain.tables import write_table


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
        with replacing(path, force=True, folder=True) as beside:
            beside.mkdir()
            (beside / "model.json").write_text(content)
    assert (path / "model.json").read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


OURS = [
    ["train.csv", "test.csv"],
    ["train.parquet", "test.parquet"],
    ["model.json"],
    ["graph.json", "user_ids.parquet"],
    ["model.json", "model.safetensors", "graph/graph.json", "graph/levels.npy"],
]


@pytest.mark.parametrize("names", OURS, ids=" ".join)
def test_a_folder_is_replaced_only_if_all_in_it_is_evichains(
    tmp_path: Path, names: list[str]
) -> None:
    path = _folder(tmp_path / "out", names)
    check_free(path, force=True, folder=True)
    for more in ("thesis.txt", "graph/thesis.txt", "train.csv/thesis.txt", "notes/a.txt"):
        kept = _folder(tmp_path / more.replace("/", "-"), [n for n in names if n not in more])
        _folder(kept, [more])
        with pytest.raises(OutputError, match="did not make"):
            check_free(kept, force=True, folder=True)
        assert (kept / more).exists()


@pytest.mark.parametrize("names", [["train.csv"], ["train.csv", "test.ndjson"], ["model.bin"]])
def test_half_a_folder_of_evichains_is_someone_elses(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(OutputError, match="did not make"):
        check_free(_folder(tmp_path / "out", names), force=True, folder=True)


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_the_old_folder_comes_back_when_the_new_one_cannot_be_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = _folder(tmp_path / "model", ["model.json"])

    def fail(self: Path, target: Path) -> Path:
        raise error

    monkeypatch.setattr(Path, "replace", fail)
    expected = OutputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected), replacing(path, force=True, folder=True) as beside:
        _folder(beside, ["model.json", "new"])
    assert [entry.name for entry in path.iterdir()] == ["model.json"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_takes_the_place_of_no_file_and_no_link(tmp_path: Path, force: bool) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("mine")
    link.symlink_to(_folder(tmp_path / "model", ["model.json"]))
    for path, said in ((file, "is not a folder"), (link, "is a link, not a folder")):
        with pytest.raises(OutputError, match=f"{path}: {said}"):
            check_free(path, force=force, folder=True)
    check_free(file, force=True)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("names", [*OURS, []], ids=" ".join)
def test_a_file_takes_the_place_of_no_folder(tmp_path: Path, names: list[str], force: bool) -> None:
    path = _folder(tmp_path / "lists.csv", names)
    path.mkdir(exist_ok=True)
    with (
        pytest.raises(OutputError, match=r"lists\.csv: is a folder"),
        replacing(path, force=force) as beside,
    ):
        beside.write_text("x")
    assert all((path / name).exists() for name in names)


def test_a_table_on_a_full_disk_is_told_of(tmp_path: Path) -> None:
    path, table = tmp_path / "a.csv", pl.DataFrame({"number": range(10_000)})
    with (
        full_disk(),
        pytest.raises(OutputError, match=r"a\.csv: cannot be written .*\nChoose a folder"),
        replacing(path, force=False) as beside,
    ):
        write_table(table, beside)
    assert not list(tmp_path.iterdir())


def test_what_the_writer_says_is_said_of_the_name_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with pytest.raises(ModelError) as caught, replacing(path, force=False) as beside:
        raise ModelError(f"{beside} is no place", where=f"{beside}/graph", right="Go.")
    assert str(caught.value) == f"{path}/graph: {path} is no place\nGo."


def test_folders_above_are_made_when_something_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "out.txt"
    check_parent(path)
    assert not list(tmp_path.iterdir())
    with replacing(path, force=False) as beside:
        beside.write_text("x")
    assert path.read_text() == "x"


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    with pytest.raises(OutputError, match="the name is not UTF-8"):
        check_free(path, force=False)


def test_a_dangling_link_is_something(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError), replacing(link, force=False):
        pass


def _half_written(path: Path) -> None:
    with replacing(path, force=True) as beside:
        beside.write_text("half")
        raise OSError(28, "No space left on device")


def _folder(path: Path, names: list[str]) -> Path:
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("x")
    return path
