"""Ids with a slash in the path of a URL.

An id such as `films/7` arrives as `films%2F7`. Servers decode it before they match routes, which
would split the id. So the slash is replaced by NUL, which no id may contain, until the id is read.
"""

import re
from urllib.parse import unquote

_SLASH = re.compile(rb"%2f", re.IGNORECASE)
_MARK = "\0"


def routing_path(raw: bytes) -> str | None:
    """The path to match with routes; None for an invalid path.

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
    """The id in a part of a routing path."""
    return part.replace(_MARK, "/")
