import json
from collections.abc import Callable

import pytest
import torch
from pydantic import BaseModel, Field, ValidationError
from typer.testing import Result

from evichain.cli._errors import as_user_error, reported
from evichain.errors import DataError, EvichainError

Run = Callable[..., Result]


class Settings(BaseModel):
    depth: int = Field(ge=0)


def parts(error: EvichainError | None) -> tuple[str, str, str]:
    assert error is not None
    return error.what, error.where, error.right


def test_an_error_of_the_system_names_the_file() -> None:
    found = as_user_error(PermissionError(13, "Permission denied", "a.csv"))
    assert parts(found) == ("Permission denied", "a.csv", "")


def test_settings_that_are_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings(depth=-1)
    right = "Input should be greater than or equal to 0"
    assert parts(as_user_error(caught.value)) == ("depth is -1", "", right)


def test_memory_that_pytorch_cannot_have() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert parts(as_user_error(caught.value))[0] == "not enough memory"


def test_a_bug_keeps_its_traceback() -> None:
    assert as_user_error(KeyError("x")) is None
    assert as_user_error(RuntimeError("shapes do not match")) is None
    with pytest.raises(ZeroDivisionError), reported():
        raise ZeroDivisionError


LONG = DataError("no such\ncolumn", where="a.csv", right="Name it\n user_id.")


@pytest.mark.parametrize(
    ("error", "status", "printed"),
    [
        (DataError("bad"), 2, "error: bad\n"),
        (LONG, 2, "error: a.csv: no such column\nName it user_id.\n"),
        (PermissionError(13, "Permission denied", "a"), 2, "error: a: Permission denied\n"),
        (MemoryError(), 2, "error: not enough memory\nUse smaller settings or less data.\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_the_text_and_the_status(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, printed: str
) -> None:
    with pytest.raises(SystemExit) as left, reported(["data", "list"]):
        raise error
    assert left.value.code == status
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", printed)


@pytest.mark.parametrize(
    ("error", "status", "printed"),
    [
        (LONG, 2, {"message": LONG.what, "where": "a.csv", "right": LONG.right}),
        (DataError("bad"), 2, {"message": "bad", "where": "", "right": ""}),
        (KeyboardInterrupt(), 130, {"message": "interrupted", "where": "", "right": ""}),
    ],
)
def test_with_json_an_error_is_one_object(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, printed: dict[str, str]
) -> None:
    with pytest.raises(SystemExit) as left, reported(["data", "list", "--json"]):
        raise error
    assert left.value.code == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert json.loads(captured.err) == {"error": printed}


@pytest.mark.parametrize(
    ("arguments", "message", "right"),
    [
        (["recommend", "model", "1", "--json", "-n", "0"], "-n", "See evichain recommend --help."),
        (["recommend", "--json"], "MODEL", "See evichain recommend --help."),
        (["--json"], "--json", "See evichain --help."),
        (["trian", "--json"], "Did you mean 'train'", "See evichain --help."),
        (["recommend", "none", "1", "--json"], "", ""),
    ],
)
def test_with_json_a_wrong_call_is_one_object(
    run: Run, arguments: list[str], message: str, right: str
) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    found = json.loads(result.stderr)["error"]
    assert set(found) == {"message", "where", "right"}
    assert message in found["message"]
    assert right in found["right"]
