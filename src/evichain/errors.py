"""Errors that a user can correct."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType


class EvichainError(Exception):
    """An error that a user can correct.

    Args:
        what: what was wrong.
        where: the file, row, column or setting it was found in.
        right: what would be right.

    >>> print(EvichainError("no such column", where="a.csv", right="Name it user_id."))
    a.csv: no such column
    Name it user_id.
    """

    def __init__(self, what: str, *, where: str = "", right: str = "") -> None:
        self.what, self.where, self.right = what, where, right
        first = f"{where}: {what}" if where else what
        super().__init__(f"{first}\n{right}" if right else first)


class DataError(EvichainError):
    """A ratings file or table that cannot be used as it is."""


class DownloadError(EvichainError):
    """A data set that could not be downloaded or has a wrong checksum."""


class SplitError(EvichainError):
    """A split that is misspelled or impossible for the data."""


class SettingsError(EvichainError):
    """A setting that is out of range, unknown, or in conflict with another."""


class UnknownEntityError(EvichainError):
    """A user or an item that the model has no ratings of."""


class ModelError(EvichainError):
    """A model directory that is missing, damaged or of another version."""


class NotFittedError(EvichainError):
    """A recommender that was used before `fit` or `load`."""


class DistributedError(EvichainError):
    """A process of a distributed training was lost, and the others cannot go on."""


class MachineError(EvichainError):
    """A machine with too little memory or another resource."""


class StoreError(EvichainError):
    """A store that cannot be used: a wrong address, another version, no permission."""


class StoreUnavailableError(StoreError):
    """A store that cannot be reached or is busy; the same call may succeed later.

    A write that raises this may have happened or not. It can safely be repeated.
    """


class StaleVersionError(StoreError):
    """A version that the log no longer reaches: start again from a snapshot."""


def cause_of(error: BaseException) -> str:
    """The first line of what an error from elsewhere says: the system's reason if it has one.

    >>> cause_of(PermissionError(13, "Permission denied", "a.csv")), cause_of(ValueError("a\\nb"))
    ('Permission denied', 'a')
    """
    lines = str(getattr(error, "strerror", None) or error).splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def reported_as(
    kind: type[EvichainError], what: str, where: Path, right: str, *causes: type[Exception]
) -> Iterator[None]:
    """Turn errors of the system, and those of further kinds, into one of ours."""
    known: tuple[type[Exception], ...] = (OSError, *causes)
    try:
        yield
    except known as error:
        raise kind(f"{what} ({cause_of(error)})", where=str(where), right=right) from error


def require(
    module: str, need: str, extra: str, kind: type[EvichainError] = SettingsError
) -> ModuleType:
    """Import a module that an extra of evichain brings; an error that tells the need if it lacks.

    >>> require("no_such_module", "tuning needs Optuna", "tune")
    Traceback (most recent call last):
        ...
    evichain.errors.SettingsError: tuning needs Optuna, which is not installed
    Install evichain with its extra `tune`; in a clone: pip install '.[tune]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise kind(f"{need}, which is not installed", right=with_extra(extra)) from error


def with_extra(name: str) -> str:
    """How to install what an extra of evichain needs.

    >>> with_extra("tune")
    "Install evichain with its extra `tune`; in a clone: pip install '.[tune]'"
    """
    return f"Install evichain with its extra `{name}`; in a clone: pip install '.[{name}]'"
