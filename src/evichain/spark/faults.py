"""Errors of Spark itself, as errors of this package."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from evichain.errors import DataError, EvichainError, with_extra

_NEEDED = ("pyspark", "pyarrow", "pandas")
_CAUSE, _SAID = "Caused by: ", ": "


class SparkError(EvichainError):
    """Spark is not installed, cannot be reached, or failed."""


def check_installed() -> None:
    """Raise an error if the extra `spark` is not installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise SparkError(
            f"this needs {' and '.join(missing)}, not installed here", right=with_extra("spark")
        )


@contextmanager
def spark_explained(doing: str) -> Iterator[None]:
    """Turn errors of Spark into errors of one line.

    Args:
        doing: what failed, such as `the ratings cannot be read`.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except AnalysisException as error:
        raise DataError(
            f"{doing} ({_first_line(error)})", right="Check the path, or the name of the table."
        ) from error
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise SparkError(
            f"{doing} ({_reason(str(error))})", right="See Spark's log and web page for more."
        ) from error


@contextmanager
def cleaning_up() -> Iterator[None]:
    """Ignore errors while resources are released: if Java died, the first error counts."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        yield


def _first_line(error: Exception) -> str:
    lines = str(error).split(";")[0].strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _reason(text: str) -> str:
    """The most useful line: the last error of a Python worker, or else the root cause in Java.

    >>> _reason("Job aborted\\n  File x.py\\nModuleNotFoundError: No module named 'evichain'\\n")
    "ModuleNotFoundError: No module named 'evichain'"
    >>> _reason("KeyError: 1\\n\\nDuring handling of it, another exception:\\n\\nDataError: no id")
    'DataError: no id'
    >>> _reason("while calling o9.load.\\n: a.B: failed\\n\\tat a.b\\nCaused by: a.C: no Parquet")
    'a.C: no Parquet'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception"))]
    python = [line for line in raised if "." not in line.split(":")[0]]
    if python:
        return python[-1]
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    if causes:
        return causes[-1]
    # py4j puts the call on a line of its own, before Java's message.
    stated = [line.removeprefix(_SAID) for line in lines if line.startswith(_SAID)]
    return (stated or raised or lines or ["no reason given"])[0]
