"""Errors that a user can correct: two lines on stderr, or one JSON object with `--json`."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

import typer

from evichain.errors import EvichainError, MachineError, SettingsError, cause_of

USER_ERROR, INTERRUPTED = 2, 130
"""Exit statuses."""


class OptionError(EvichainError):
    """Options that are missing, misspelled or in conflict with each other."""


class OutputError(EvichainError):
    """An output that cannot be written where it should go."""


@contextmanager
def reported(arguments: Sequence[str] = ()) -> Iterator[None]:
    """Turn an error that a user can correct into a message and an exit status.

    A bug keeps its traceback.

    Args:
        arguments: those of the command; with `--json` among them the message is JSON.
    """
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        _discard(sys.stdout)
        sys.exit(0)
    except KeyboardInterrupt as error:
        print_error(EvichainError(str(error) or "interrupted"), arguments, prefix="")
        sys.exit(INTERRUPTED)
    except Exception as error:
        found = as_user_error(error)
        if found is None:
            raise
        print_error(found, arguments)
        sys.exit(USER_ERROR)


def as_user_error(error: Exception) -> EvichainError | None:
    """The error in our own terms; None if it is a bug."""
    if isinstance(error, EvichainError):
        return error
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "evichain"
        return OptionError(error.format_message(), right=f"See {command} --help.")
    if isinstance(error, OSError):
        return EvichainError(cause_of(error), where=str(error.filename or ""))
    if isinstance(error, MemoryError) or _is_torch_memory_error(error):
        return MachineError("not enough memory", right="Use smaller settings or less data.")
    return _invalid_setting(error)


def print_error(error: EvichainError, arguments: Sequence[str], *, prefix: str = "error: ") -> None:
    """Print an error on stderr: one or two lines, or one JSON object with `--json`."""
    if "--json" in arguments:
        parts = {"message": error.what, "where": error.where, "right": error.right}
        lines = [json.dumps({"error": parts})]
    else:
        first = f"{error.where}: {error.what}" if error.where else error.what
        lines = [prefix + _one_line(first), *([_one_line(error.right)] if error.right else [])]
    try:
        for line in lines:
            typer.echo(line, err=True)
    except BrokenPipeError:
        _discard(sys.stderr)


def _is_torch_memory_error(error: Exception) -> bool:
    """Whether PyTorch ran out of memory, for which it has no exception of its own on CPUs."""
    message = str(error)
    return isinstance(error, RuntimeError) and (
        "DefaultCPUAllocator" in message or "out of memory" in message
    )


def _invalid_setting(error: Exception) -> SettingsError | None:
    """A setting that pydantic refused."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return None
    first = error.errors(include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    name = ".".join(map(str, first["loc"]))
    if not name:
        return SettingsError(message)
    return SettingsError(f"{name} is {first['input']!r}", right=message)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _discard(stream: TextIO) -> None:
    """Discard the rest of the output: its reader has closed the pipe."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
