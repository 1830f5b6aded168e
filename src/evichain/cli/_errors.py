"""What went wrong, said in at most two lines on stderr, with an exit status that tells the kind."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, TextIO

import typer

from evichain.errors import EvichainError, UnknownEntityError

USER_ERROR, INTERRUPTED = 2, 130


class OptionError(EvichainError):
    """Options that are missing, misspelled or at odds with each other."""


class OutputError(EvichainError):
    """A place where the output cannot go."""


@contextmanager
def reported() -> Iterator[None]:
    """Turn what a user can cause into a message and an exit status; a bug keeps its traceback."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        _hush(sys.stdout)
        sys.exit(0)
    except KeyboardInterrupt as error:
        _leave(str(error) or "interrupted", INTERRUPTED)
    except Exception as error:
        lines = explained(error)
        if not lines:
            raise
        _leave(f"error: {lines[0]}", USER_ERROR, *lines[1:])


@contextmanager
def unknown_means(right: str) -> Iterator[None]:
    """Say what to do about an unknown id here, where nobody can call `add`."""
    try:
        yield
    except UnknownEntityError as error:
        error.right = right
        raise


def explained(error: Exception) -> list[str]:
    """What a user should be told, in one or two lines; nothing when the error is not theirs."""
    if isinstance(error, EvichainError):
        first = f"{error.where}: {error.what}" if error.where else error.what
        return [_line(first), _line(error.right)] if error.right else [_line(first)]
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "evichain"
        return [_line(error.format_message()), f"See {path} --help."]
    if isinstance(error, OSError):
        said = error.strerror or str(error) or type(error).__name__
        return [_line(f"{error.filename}: {said}" if error.filename else said)]
    if isinstance(error, MemoryError) or _is_memory_of_torch(error):
        return ["not enough memory", "Use smaller settings or less data."]
    return _invalid(error)


def _is_memory_of_torch(error: Exception) -> bool:
    """Whether it is PyTorch that got no memory, which it has no error of its own for."""
    said = str(error)
    return isinstance(error, RuntimeError) and (
        "DefaultCPUAllocator" in said or "out of memory" in said
    )


def _invalid(error: Exception) -> list[str]:
    """Settings that pydantic refused."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return []
    first = error.errors(include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    where = ".".join(map(str, first["loc"]))
    if not where:
        return [_line(message)]
    return [_line(f"{where} is {first['input']!r}"), _line(message)]


def _line(text: str) -> str:
    return " ".join(text.split())


def _leave(first: str, status: int, *more: str) -> NoReturn:
    try:
        for line in (first, *more):
            typer.echo(line, err=True)
    except BrokenPipeError:
        _hush(sys.stderr)
    sys.exit(status)


def _hush(stream: TextIO) -> None:
    """Give the rest of the output to nobody: whoever read it has gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
