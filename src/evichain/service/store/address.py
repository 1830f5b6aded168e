"""The address of a store: `sqlite:///path`, a bare path or `postgresql://…`."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from evichain.errors import StoreError, require

OFFER = "It is sqlite:///path, a path, or postgresql://user@host/database."
_POSTGRES = ("postgresql", "postgres")
# Defaults that give up on a server that no longer answers.
_DEFAULTS = {"connect_timeout": "10", "keepalives_idle": "10", "keepalives_interval": "5"}
_DEFAULTS |= {"keepalives_count": "3", "tcp_user_timeout": "20000"}


@dataclass(frozen=True)
class SqliteAddress:
    """A file."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class PostgresAddress:
    """A PostgreSQL database.

    Attributes:
        conninfo: for psycopg, with the password; never shown.
        name: without the password, to be shown.
    """

    conninfo: str = field(repr=False)
    name: str

    def __str__(self) -> str:
        return self.name


def is_url(text: str) -> bool:
    """Whether a text is the URL of a store, and not a path."""
    return text.partition("://")[0].lower() in ("sqlite", *_POSTGRES) and "://" in text


def parse(url: str | Path) -> SqliteAddress | PostgresAddress:
    """The address in a URL or path.

    >>> str(parse("sqlite:///ratings.db")), str(parse("sqlite:////data/ratings.db"))
    ('ratings.db', '/data/ratings.db')
    """
    if isinstance(url, Path):
        return SqliteAddress(url.expanduser())
    scheme, separator, rest = url.partition("://")
    if not separator:
        return _file(url, url)
    if scheme.lower() == "sqlite":
        host, slash, path = rest.partition("/")
        if host or not slash:
            right = "A file has three slashes, and a fourth if its path begins with one."
            raise StoreError("names a host, but a file has none", where=url, right=right)
        return _file(unquote(path), url)
    if scheme.lower() in _POSTGRES:
        return _postgres(url)
    # Not the whole text: it may contain a password.
    shown = f"{scheme[:20]}://…" if scheme.isalnum() else "the address"
    raise StoreError("is not the address of a store", where=shown, right=OFFER)


def _file(path: str, url: str) -> SqliteAddress:
    if not path or path == ":memory:" or "\0" in path or path.endswith("/"):
        right = "Name a file, such as sqlite:///ratings.db. Stores in memory are not supported."
        raise StoreError("does not name a file", where=repr(url), right=right)
    return SqliteAddress(Path(path).expanduser())


def _postgres(url: str) -> PostgresAddress:
    psycopg = require("psycopg", "PostgreSQL needs psycopg", "postgres", StoreError)
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        # The reason is not passed on: it may quote parts of the password.
        raise _misunderstood(url) from None
    user, host = parts.get("user") or "", parts.get("host") or parts.get("hostaddr") or ""
    port, database = parts.get("port") or "", parts.get("dbname") or ""
    # An unescaped @ in a password makes the rest of it look like another part.
    if "@" in f"{user}{host}{database}" or (port and not port.replace(",", "0").isdigit()):
        raise _misunderstood(url)
    name = f"postgresql://{user}{'@' * bool(user)}{host}{':' * bool(port)}{port}/{database}"
    conninfo = psycopg.conninfo.make_conninfo(**{**_DEFAULTS, **parts, "client_encoding": "utf8"})
    return PostgresAddress(conninfo, name)


def _misunderstood(url: str) -> StoreError:
    return StoreError(
        "invalid address",
        where=f"{url.partition('://')[0]}://…",
        right="It is postgresql://user:password@host:port/database, with characters such as @ in "
        "a password written as %40.",
    )
