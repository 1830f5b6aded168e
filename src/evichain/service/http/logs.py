"""One line of JSON for each request, and for every other message; without personal data.

A request is logged by its route (`/v1/users/{user}/ratings`), never by its URL, which contains
ids. Of an error that is a bug, its place in the code is logged, and not its text,
which may quote an id.
"""

import json
import logging
import sys
import time
import traceback

request_log = logging.getLogger("evichain.http")
_FIELDS = (
    *("request_id", "method", "route", "status", "ms", "key", "error"),
    *("version", "ratings", "low", "high"),
)


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {
            name: value for name in _FIELDS if (value := getattr(record, name, None)) is not None
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = error_location(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=str)


class PlainLines(logging.Formatter):
    """A record as text."""

    def format(self, record: logging.LogRecord) -> str:
        values = [(name, getattr(record, name, None)) for name in _FIELDS]
        shown = [f"{name}={value}" for name, value in values if value is not None]
        if record.exc_info and record.exc_info[1] is not None:
            shown.append(error_location(record.exc_info[1]))
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        return " ".join([clock, record.levelname.lower(), record.getMessage(), *shown])


def error_location(error: BaseException) -> str:
    """The type of an error and where it was raised, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    shown = ", ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in frames[-6:])
    return f"{type(error).__name__} in {shown}" if shown else type(error).__name__


def set_up(*, as_json: bool) -> None:
    """Log to stderr; for a process that only serves."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else PlainLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
    # Its lines contain URLs, and ours have the rest.
    logging.getLogger("uvicorn.access").disabled = True
    # Finding the source line of each record is slow, and not shown.
    logging._srcfile = None
    request_log.setLevel(logging.INFO)
