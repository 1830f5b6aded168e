"""API keys with read or write access.

A key is a long random text; the server has only its SHA-256. A key file has one line per key: a
name, `read` or `write`, and the digest in hexadecimal.
"""

import hmac
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from pathlib import Path

from evichain.errors import SettingsError

_LINE_FORMAT = "A line is: name, read or write, and the SHA-256 of the key (64 hexadecimal digits)."


class KeyScope(IntEnum):
    """What a key allows; write includes read."""

    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Key:
    """A key without its secret."""

    name: str
    scope: KeyScope
    digest: bytes

    @classmethod
    def of(cls, name: str, scope: KeyScope, secret: str) -> "Key":
        """The key of a secret."""
        return cls(name, scope, sha256(secret.encode()).digest())

    @classmethod
    def parse(cls, line: str, where: str = "") -> "Key":
        """The key in a line of a key file.

        >>> Key.parse(Key.of("page", KeyScope.READ, "secret").line).scope.name
        'READ'
        """
        parts = line.split()
        try:
            name, scope, digest = parts
            found = cls(name, KeyScope[scope.upper()], bytes.fromhex(digest))
        except (ValueError, KeyError):
            raise SettingsError("invalid line", where=where, right=_LINE_FORMAT) from None
        if len(found.digest) != sha256().digest_size:
            raise SettingsError("invalid SHA-256 in this line", where=where, right=_LINE_FORMAT)
        return found

    @property
    def line(self) -> str:
        """The line of a key file."""
        return f"{self.name} {self.scope.name.lower()} {self.digest.hex()}"


class Keys:
    """The keys of a server."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._keys = tuple(keys)
        names = [key.name for key in self._keys]
        for name in names:
            if names.count(name) > 1:
                right = "Give each key a name of its own."
                raise SettingsError(f"two keys have the name {name!r}", right=right)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    @classmethod
    def read(cls, path: Path) -> "Keys":
        """Read a key file; empty lines and lines that begin with # are skipped."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "is no text"
            right = "Name a key file."
            raise SettingsError(
                f"cannot be read ({reason})", where=str(path), right=right
            ) from error
        numbered = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
        return cls(
            Key.parse(line, f"{path}, line {number}")
            for number, line in numbered
            if line and not line.startswith("#")
        )

    def find(self, secret: str) -> Key | None:
        """The key with this secret, or None; takes the same time for all secrets."""
        digest = sha256(secret.encode("utf-8", "surrogatepass")).digest()
        found = None
        for key in self._keys:
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found


def new_secret() -> str:
    """A new secret of 256 random bits."""
    return secrets.token_urlsafe(32)


def secret_in_headers(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The secret in the headers of a request: `X-API-Key`, or `Authorization: Bearer`."""
    for name, value in headers:
        if name == b"x-api-key":
            return value.decode("latin-1").strip()
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].decode("latin-1").strip()
    return None


# Questions with a body; they change nothing.
_ASKED_BY_POST = frozenset(
    {"/v1/recommendations", "/v1/predictions", "/v1/explanations", "/api/session/recommend"}
)
HEALTH = frozenset({"/health/live", "/health/ready", "/api/health/live", "/api/health/ready"})
"""The paths of health checks."""


def required_scope(method: str, path: str) -> KeyScope | None:
    """The scope that a request needs; None if it needs no key.

    Routes that are not listed here need a key, so that none is left open by mistake.
    """
    reads = method in ("GET", "HEAD")
    if reads and (path == "/" or path in HEALTH or path.startswith("/static/")):
        return None
    return (
        KeyScope.READ if reads or (method == "POST" and path in _ASKED_BY_POST) else KeyScope.WRITE
    )
