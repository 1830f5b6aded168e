import pytest
import torch
from pydantic import BaseModel, Field, ValidationError

from evichain.cli._errors import explained, reported
from evichain.errors import DataError


class Settings(BaseModel):
    depth: int = Field(ge=0)


def test_an_error_of_ours_keeps_its_two_lines() -> None:
    error = DataError("no such\ncolumn", where="a.csv", right="Name it\n user_id.")
    assert explained(error) == ["a.csv: no such column", "Name it user_id."]


def test_an_error_of_the_system_names_the_file() -> None:
    assert explained(PermissionError(13, "Permission denied", "a.csv")) == [
        "a.csv: Permission denied"
    ]


def test_settings_that_are_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(depth=-1)
    assert explained(caught.value) == [
        "depth is -1",
        "Input should be greater than or equal to 0",
    ]


def test_memory_that_pytorch_cannot_have() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert explained(caught.value)[0] == "not enough memory"


def test_a_bug_keeps_its_traceback() -> None:
    assert explained(KeyError("x")) == []
    assert explained(RuntimeError("shapes do not match")) == []
    with pytest.raises(ZeroDivisionError), reported():
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (DataError("bad"), 2, "error: bad\n"),
        (MemoryError(), 2, "error: not enough memory\nUse smaller settings or less data.\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_what_is_said_and_the_status(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, said: str
) -> None:
    with pytest.raises(SystemExit) as left, reported():
        raise error
    assert left.value.code == status
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", said)
