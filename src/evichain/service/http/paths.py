"""Paths whose parts may hold a slash.

An id such as `films/7` comes as `films%2F7`. Servers decode that before routes are sought, and
the id falls apart. So the slash travels as a NUL, which no id may hold, until the id is read.
"""

import re
from urllib.parse import unquote

_SLASH = re.compile(rb"%2f", re.IGNORECASE)
_MARK = "\0"


def routing_path(raw: bytes) -> str | None:
    """The path to seek a route for; None when it is no path that anything could have.

    >>> routing_path(b"/v1/items/films%2F7"), routing_path(b"/v1/items/a%00b")
    ('/v1/items/films\\x007', None)
    """
    path = raw.split(b"?", 1)[0]
    if b"%00" in path or b"\0" in path:
        return None
    try:
        return unquote(_SLASH.sub(_MARK.encode(), path).decode("ascii"), errors="strict")
    except UnicodeDecodeError:
        return None


def decode_id(part: str) -> str:
    """The id that a part of a routing_path path holds."""
    return part.replace(_MARK, "/")
